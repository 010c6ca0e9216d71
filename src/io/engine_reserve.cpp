// The memory habits of an engine, version by version.
#include <fmt/format.h>

#include <array>
#include <variant>

#include "engine_reader.hpp"

namespace tokenroof::io {
namespace {

constexpr std::array<std::string_view, 4> policy_names = {"exact", "uniform_pages", "full_length",
                                                          "windowed_cells"};

struct ReserveField {
  std::string_view name;
  std::variant<Bytes EngineReserve::*, double EngineReserve::*, int EngineReserve::*,
               bool EngineReserve::*>
      member;
};

// The one place that knows which name in a file is which member. Absent: the member's default.
constexpr ReserveField fields[] = {
    {"runtime", &EngineReserve::runtime},
    {"collectives", &EngineReserve::collectives},
    {"graphs", &EngineReserve::graphs},
    {"activation_per_token", &EngineReserve::activation_per_token},
    {"activation_base", &EngineReserve::activation_base},
    {"logit_bytes", &EngineReserve::logit_bytes},
    {"keeps_expert_scratch", &EngineReserve::keeps_expert_scratch},
    {"expert_hidden_multiple", &EngineReserve::expert_hidden_multiple},
    {"expert_width_multiple", &EngineReserve::expert_width_multiple},
    {"fraction_of_free", &EngineReserve::fraction_of_free},
    {"latent_per_head", &EngineReserve::latent_per_head},
    {"state_blocks", &EngineReserve::state_blocks},
    {"reports_capacity", &EngineReserve::reports_capacity},
};

void read_member(ObjectReader& reader, std::string_view key, Bytes& into) {
  into = reader.quantity<Bytes>(key, Sign::non_negative).value_or(into);
}
void read_member(ObjectReader& reader, std::string_view key, double& into) {
  into = reader.number(key, Range::non_negative()).value_or(into);
}
void read_member(ObjectReader& reader, std::string_view key, int& into) {
  into = static_cast<int>(reader.integer(key, Range::between(1, 1e6)).value_or(into));
}
void read_member(ObjectReader& reader, std::string_view key, bool& into) {
  into = reader.boolean(key).value_or(into);
}

}  // namespace

std::string_view to_string(KvPolicy policy) {
  return policy_names[static_cast<std::size_t>(policy)];
}

std::optional<KvPolicy> read_kv_policy(ObjectReader& reader) {
  if (const auto policy = reader.choice("kv_policy", policy_names))
    return static_cast<KvPolicy>(*policy);
  return std::nullopt;
}

void read_engine_reserve(ObjectReader reader, EngineEntry& entry) {
  EngineReserve reserve;
  reserve.since = reader.text("since").value_or("");
  for (const ReserveField& field : fields)
    std::visit([&](auto member) { read_member(reader, field.name, reserve.*member); },
               field.member);
  reserve.kv_policy = read_kv_policy(reader);
  entry.reserve_sources.push_back(reader.required_text("source"));
  const auto& earlier = entry.engine.reserves;
  if (!earlier.empty() && !version_at_least(reserve.since, earlier.back().since))
    reader.fault("since", "the entries must go from the oldest version to the newest");
  reader.finish();
  entry.engine.reserves.push_back(reserve);
}

Json write_engine_reserve(const EngineReserve& reserve, const std::string& source) {
  Json json = Json::object();
  json["since"] = reserve.since;
  const EngineReserve otherwise;
  for (const ReserveField& field : fields) {
    std::visit(
        [&](auto member) {
          if (reserve.*member == otherwise.*member) return;
          if constexpr (std::is_same_v<decltype(member), Bytes EngineReserve::*>)
            json[std::string(field.name)] = fmt::format("{} B", reserve.*member / byte);
          else
            json[std::string(field.name)] = reserve.*member;
        },
        field.member);
  }
  if (reserve.kv_policy) json["kv_policy"] = std::string(to_string(*reserve.kv_policy));
  json["source"] = source;
  return json;
}

}  // namespace tokenroof::io
