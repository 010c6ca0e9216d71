// Published and derived counts of models against ours. A published total counts as exact only where
// it equals the derived one: others hold towers, a tied head stored twice, or are rounded.
#include <array>

#include "io/validate/kind.hpp"
#include "tokenroof/physics/kv_cache.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {
namespace {

constexpr std::string_view derived_total = "derived_total_params_text_decoder";
constexpr std::string_view derived_kv = "derived_kv_bytes_per_token_bf16_all_attn_layers_no_window";
constexpr std::array<std::string_view, 4> columns = {"file", "published_total_params",
                                                     derived_total, derived_kv};

void predict(Row& row, Lookups& lookups) {
  const Model& model = lookups.model(row.required_text("file"));
  row.group("family", model.family);
  if (!model.checkpoint.method.empty()) row.group("dtype", model.checkpoint.method);

  const std::string_view published = row.text("published_total_params");
  if (!published.empty() && published == row.text(derived_total))
    row.predict("total_parameters", row.positive(derived_total),
                static_cast<double>(parameter_count(model).total));
  else
    row.omit("total_parameters", "no published total that equals the derived one");

  // As if no layer were windowed, without the indexers' own caches.
  if (const auto stated = row.number(derived_kv))
    row.predict("kv_bytes_per_token", *stated,
                kv_geometry(model, formats::bf16).growth_without_windows().base());
  else
    row.omit("kv_bytes_per_token", "not stated");
}

}  // namespace

extern const Kind models_kind{"models", columns, predict};

}  // namespace tokenroof::io
