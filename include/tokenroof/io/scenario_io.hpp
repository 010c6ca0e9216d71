// Scenario files: the whole question in one JSON object (design: docs; examples/specs).
//
//   model, accelerator, engine   a name of the catalogue, a path (relative to the scenario file or
//                                to the working directory), or an object in place
//   precision     weights, expert_weights, compute, activations, kv_cache; absent: as the
//                 checkpoint is. "weights" sets attention, dense feed-forward and all experts;
//                 embedding, head, router and norms stay 16-bit (GGUF formats set everything)
//   deployment    tensor_parallel, pipeline_parallel, expert_parallel, attention_data_parallel,
//                 context_parallel, replicas, devices_per_node; default 1 (a node: 8)
//   workload      input_tokens, output_tokens, lengths, prefix_hit_rate or sessions, and one of
//                 arrival_rate | concurrency | batch + context_tokens; in place of lengths and
//                 hit rate several kinds of requests: classes [{name, share, input_tokens,
//                 output_tokens, prefix_hit_rate}]
//   objective     ttft_p50|p95|p99, tpot_mean|p95, e2e_p95, tokens_per_s_per_user
//   price         accelerator_hour, utilization
//   speculation   draft_tokens, acceptance, draft_cost, draft_memory
//   disaggregation  prefill_replicas, decode_replicas, transfer_bandwidth
//   comment, question  whatever its reader wants to keep beside the scenario; taken as it is
// A key that is absent or null has its default; which defaults an answer rests on is listed.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/io/catalog.hpp"

namespace tokenroof::io {

/// A value that the scenario did not state.
struct DefaultUsed {
  std::string pointer;  ///< "/engine/memory_fraction"
  std::string value;    ///< as one would write it: "0.9"
  std::string origin;   ///< "data/engines/vllm.json", "default", ...
};

/// A scenario as the formulas take it, and where its parts are from.
struct ScenarioEntry {
  Scenario scenario;
  std::vector<DefaultUsed> defaults_used;
  std::map<std::string, std::string> accelerator_sources;
  std::vector<std::string> accelerator_unverified;
  std::vector<ConstantNote> engine_constants;
};

/// A scenario as text with overrides: what a sweep or a what-if changes. A value type.
class ScenarioDocument {
 public:
  /// Reads a file, "-" for standard input. Throws SpecError.
  [[nodiscard]] static ScenarioDocument load(const std::filesystem::path& path);
  /// `file` is for messages; paths inside are relative to `folder`.
  [[nodiscard]] static ScenarioDocument parse(std::string_view json_text, const std::string& file,
                                              const std::filesystem::path& folder = {});

  ScenarioDocument(const ScenarioDocument& other);
  ScenarioDocument& operator=(const ScenarioDocument& other);
  ScenarioDocument(ScenarioDocument&&) noexcept;
  ScenarioDocument& operator=(ScenarioDocument&&) noexcept;
  ~ScenarioDocument();

  /// Applies "workload.batch=64". The value is JSON if it parses as such, else text ("80 GB");
  /// null takes a key away; x10 or *0.5 scales the value that is there, keeping its unit. A part
  /// given by name is first replaced by its file, so that "accelerator.memory_bandwidth=x10" works.
  /// Throws SpecError for text without "=", an empty or unknown section, or nothing to scale; an
  /// unknown key further down is found by read(). Messages name the `option` it came from.
  void set(std::string_view assignment, const Catalog& catalog, std::string_view option = "--set");
  /// Builds the scenario. Throws one SpecError with all faults.
  [[nodiscard]] ScenarioEntry read(const Catalog& catalog) const;
  /// The scenario as it now stands, as JSON text.
  [[nodiscard]] std::string text() const;

 private:
  struct State;
  explicit ScenarioDocument(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// load, set each of `overrides`, read.
[[nodiscard]] ScenarioEntry read_scenario(const std::filesystem::path& path, const Catalog& catalog,
                                          const std::vector<std::string>& overrides = {});

}  // namespace tokenroof::io
