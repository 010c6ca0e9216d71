// InferenceX (InferenceMAX) aggregated results: one closed-loop run an object, times in seconds.
// Its prompts and outputs are uniform between 0.8 and 1 of the stated lengths.
#include "io/import/json_source.hpp"

namespace tokenroof::io {
namespace {

bool recognises(const Json& object) {
  return object.contains("conc") && object.contains("isl") && object.contains("osl");
}

void refuse(const Json& object, const char* key, const char* what) {
  if (truth_in(object, key))
    throw SpecError("", join_pointer("", key), std::string(what) + ", which a row cannot state");
}

/// "0.5.3" of "lmsysorg/sglang:v0.5.3rc1-cu128".
std::string image_version(const std::string& image) {
  const std::size_t colon = image.rfind(':');
  const std::size_t begin = image.find_first_of("0123456789", colon);
  if (colon == std::string::npos || begin == std::string::npos || begin > colon + 2) return {};
  const std::size_t end = image.find_first_not_of("0123456789.", begin);
  return image.substr(begin, end - begin);
}

/// "fp4" is the device's kind of it; gpt-oss says itself which.
std::string weights_of(const Json& object) {
  const std::string precision = text_in(object, "precision");
  if (precision != "fp4") return precision;
  if (text_in(object, "model").find("gpt-oss") != std::string::npos) return {};
  return text_in(object, "hw").starts_with("mi") ? "mxfp4" : "nvfp4";
}

void read(const Json& object, ImportCells& cells) {
  refuse(object, "disagg", "prefill and decode ran on devices of their own");
  refuse(object, "is_multinode", "several nodes");
  const std::string speculation = text_in(object, "spec_decoding");
  if (!speculation.empty() && speculation != "none" && speculation != "false")
    throw SpecError("", "/spec_decoding",
                    "speculative decoding (" + speculation + "), which a row cannot state");
  cells.set("origin", "inferencex");
  cells.set("model", text_in(object, "model"));
  cells.set("gpu", text_in(object, "hw"));
  const std::string framework = text_in(object, "framework");
  cells.set("engine", framework.find("trt") != std::string::npos ? "trtllm" : framework);
  cells.set("engine_version", image_version(text_in(object, "image")));
  cells.set("weight_dtype", weights_of(object));
  cells.set("input_tokens", positive_in(object, "isl"));
  cells.set("output_tokens", positive_in(object, "osl"));
  cells.set("concurrency", positive_in(object, "conc"));
  cells.set("lengths", "uniform 0.8-1.0");
  const double tp = number_in(object, "tp").value_or(1);
  const double pp = number_in(object, "pp").value_or(1);
  // Attention data parallelism takes the place of tensor parallelism, rank by rank.
  const bool spread = truth_in(object, "dp_attention");
  cells.set("tp", spread ? 1 : tp);
  cells.set("attention_dp", spread ? tp : 1);
  cells.set("pp", pp);
  cells.set("ep", number_in(object, "ep"));
  const double devices = tp * pp;
  for (const auto& [key, column] : {std::pair("tput_per_gpu", "total_tokens_per_s"),
                                    std::pair("output_tput_per_gpu", "output_tokens_per_s_total")})
    if (const auto rate = number_in(object, key)) cells.set(column, *rate * devices);
  for (const auto& item : object.items()) {
    const std::size_t stop = item.key().find('_');
    if (stop == std::string::npos) continue;
    const std::string column =
        latency_column(item.key().substr(0, stop), item.key().substr(stop + 1));
    if (column.empty()) continue;
    if (const auto seconds = figure_in(object, item.key())) cells.set(column, *seconds * 1e3);
  }
}

}  // namespace

extern const JsonSource inferencex_source;
const JsonSource inferencex_source{"inferencex", recognises, read};

}  // namespace tokenroof::io
