// Engine profiles: data/engines/NAME.json.
//
//   name, versions        which engine, and the versions its constants were learned from
//   defaults              memory_fraction, max_sequences, max_batched_tokens, chunked_prefill,
//                         aligned_prompts, schedule_interval, async_scheduling, block_tokens,
//                         kv_policy (exact, uniform_pages, full_length, windowed_cells)
//   constants             {NAME: {"value": "0.5 ms" or a number, "meaning", "source", "date",
//                         "rows", "fit_error"}}; names are members of EngineConstants, at most 16
//                         (spreads not counted); of the newest versions
//   local_runtime         the same for LocalRuntimeConstants: the engine runs steps of its own kind
//   earlier               [{"before": "0.8", "note", "defaults", "constants": {...}}]: versions
//                         below that number; constants all their own, defaults where they differ
//   reserves              [{"since": "0.15", "runtime": "0.5 GiB", "logit_bytes": 8, "source"}]:
//                         members of EngineReserve; both lists go from old to new
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/describe/engine.hpp"

namespace tokenroof::io {

/// What a file says about one constant, beside its value.
struct ConstantNote {
  std::string name;
  std::string value;  ///< as written, with its unit
  std::string meaning;
  std::string source;
  std::string date;
  std::optional<std::int64_t> rows;  ///< measurements it was learned from
  std::optional<double> fit_error;   ///< median absolute relative error over those rows
};

/// The versions of an engine below one number, and above the era before.
struct EngineEra {
  std::string before;
  std::string note;  ///< what was different
  Engine engine;     ///< defaults and constants of the time
  std::vector<ConstantNote> notes;
};

/// An engine with its defaults filled in, and the origin of its constants.
struct EngineEntry {
  Engine engine;
  std::vector<std::string> versions;
  std::vector<ConstantNote> constants;       ///< notes on engine.constants
  std::vector<ConstantNote> local_runtime;   ///< notes on engine.local_runtime
  std::vector<EngineEra> earlier;            ///< oldest first
  std::vector<std::string> reserve_sources;  ///< of engine.reserves, in their order
};

/// Reads one profile. Throws SpecError with all faults; `file` is for messages.
[[nodiscard]] EngineEntry read_engine(std::string_view json_text, const std::string& file);

/// The era of `version`; nullptr for the newest versions and for an empty text.
[[nodiscard]] const EngineEra* era_of(const EngineEntry& entry, std::string_view version);
/// The constants of that era.
[[nodiscard]] EngineConstants constants_for(const EngineEntry& entry, std::string_view version);
/// The entry as of `version` (empty: the newest): engine.version, defaults and constants.
[[nodiscard]] EngineEntry for_version(EngineEntry entry, const std::string& version);

/// The profile as JSON text, such that read_engine gives the same entry back. Notes are taken from
/// `entry.constants` by name. A constant without a note is written when it is not at its default,
/// and the file is then refused until somebody says where the number is from.
[[nodiscard]] std::string write_engine(const EngineEntry& entry);

/// Machine-readable spelling of a cache policy.
[[nodiscard]] std::string_view to_string(KvPolicy policy);

}  // namespace tokenroof::io
