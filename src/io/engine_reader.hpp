#pragma once

#include "constants_table.hpp"
#include "json_reader.hpp"
#include "tokenroof/io/engine_io.hpp"

namespace tokenroof::io {

/// The settings that a profile's `defaults` and a scenario's `engine` object share; absent keys
/// leave `engine` as it is.
void read_engine_settings(ObjectReader& reader, Engine& engine);
/// The `constants` object; absent names keep their values.
std::vector<ConstantNote> read_engine_constants(ObjectReader reader, EngineConstants& constants,
                                                const ConstantRules& rules);

/// Every constant by name, in the order of the files.
[[nodiscard]] std::span<const ConstantField<EngineConstants>> engine_constant_fields();
[[nodiscard]] std::span<const ConstantField<LocalRuntimeConstants>> local_runtime_fields();

/// Puts `note` in the place of the one with its name, or at the end.
void replace_note(std::vector<ConstantNote>& notes, const ConstantNote& note);
/// The choice at "kv_policy".
std::optional<KvPolicy> read_kv_policy(ObjectReader& reader);
/// One entry of `reserves`, appended to the entry's.
void read_engine_reserve(ObjectReader reader, EngineEntry& entry);
/// The same entry as JSON; members at their defaults are left out.
[[nodiscard]] Json write_engine_reserve(const EngineReserve& reserve, const std::string& source);

}  // namespace tokenroof::io
