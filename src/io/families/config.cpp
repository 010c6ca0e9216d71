#include "io/families/config.hpp"

#include <algorithm>

namespace tokenroof::io {
namespace {

/// Whether a key of an arithmetical name can add anything with this value. What is off or empty
/// cannot; a flag or a text can only by a few names.
bool could_count(std::string_view key, const Json* value) {
  const auto has = [&](Keys words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return key.find(word) != std::string_view::npos;
    });
  };
  if (value == nullptr || value->empty()) return false;
  if (value->is_boolean())
    return value->get<bool>() && has({"bias", "qk_norm", "tie_", "gate", "share", "mla", "cla_"});
  if (value->is_string()) return has({"pattern", "layer_", "layers", "block_type"});
  return !value->is_number() || value->get<double>() != 0;
}

}  // namespace

std::string_view Config::present(Keys keys) const {
  for (const std::string_view key : keys)
    if (reader_.has(key)) return key;
  return {};
}

std::string_view Config::choose(Keys keys) {
  std::string_view chosen;
  const Json* value = nullptr;
  for (const std::string_view key : keys) {
    const Json* candidate = reader_.raw(key);
    if (candidate == nullptr) continue;
    if (value == nullptr) {
      chosen = key;
      value = candidate;
    } else if (*candidate != *value) {
      fault(key,
            describe(*candidate) + " contradicts " + std::string(chosen) + ", " + describe(*value));
    }
  }
  return chosen;
}

void Config::note_default(std::string_view key, std::int64_t value) {
  note(reader_.pointer(key) + " absent: family default " + std::to_string(value));
}

std::int64_t Config::size(Keys keys, std::int64_t high, std::int64_t family_default) {
  const std::string_view key = choose(keys);
  if (!key.empty())
    return reader_.integer(key, Range::between(1, static_cast<double>(high))).value_or(1);
  const bool fill =
      nested_ || std::find(fillable_.begin(), fillable_.end(), *keys.begin()) != fillable_.end();
  if (fill && family_default > 0) {
    note_default(*keys.begin(), family_default);
    return family_default;
  }
  fault(*keys.begin(), "missing");
  return 1;
}

std::int64_t Config::size_or(Keys keys, std::int64_t high, std::int64_t fallback) {
  const std::string_view key = choose(keys);
  if (key.empty()) return fallback;
  return reader_.integer(key, Range::between(1, static_cast<double>(high))).value_or(1);
}

std::int64_t Config::size_or_noted(Keys keys, std::int64_t high, std::int64_t fallback) {
  if (!has(keys)) note_default(*keys.begin(), fallback);
  return size_or(keys, high, fallback);
}

std::optional<std::int64_t> Config::optional_count(Keys keys, std::int64_t high) {
  const std::string_view key = choose(keys);
  if (key.empty()) return std::nullopt;
  return reader_.integer(key, Range::between(0, static_cast<double>(high)));
}

std::int64_t Config::count(Keys keys, std::int64_t high, std::int64_t fallback) {
  return optional_count(keys, high).value_or(fallback);
}

double Config::number(Keys keys, double fallback) {
  const std::string_view key = choose(keys);
  return key.empty() ? fallback : reader_.number(key).value_or(fallback);
}

bool Config::flag(Keys keys, bool fallback) {
  const std::string_view key = choose(keys);
  return key.empty() ? fallback : reader_.boolean(key).value_or(fallback);
}

std::string Config::text(Keys keys, std::string_view fallback) {
  const std::string_view key = choose(keys);
  return key.empty() ? std::string(fallback) : reader_.text(key).value_or(std::string(fallback));
}

std::optional<std::vector<std::int64_t>> Config::integers(std::string_view key) {
  if (!reader_.has(key)) return std::nullopt;
  return reader_.integers(key);
}

std::optional<std::vector<std::string>> Config::texts(std::string_view key) {
  if (!reader_.has(key)) return std::nullopt;
  return reader_.texts(key);
}

bool Config::is_list(std::string_view key) {
  const Json* value = reader_.raw(key);
  return value != nullptr && value->is_array();
}
bool Config::is_text(std::string_view key) {
  const Json* value = reader_.raw(key);
  return value != nullptr && value->is_string();
}
bool Config::is_flag(std::string_view key) {
  const Json* value = reader_.raw(key);
  return value != nullptr && value->is_boolean();
}

bool Config::is_null(std::string_view key) const {
  if (reader_.has(key)) return false;
  const std::vector<std::string> keys = reader_.keys();
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::vector<std::int64_t> Config::per_layer(Keys keys, int layers, std::int64_t high,
                                            std::int64_t fallback) {
  const std::string_view key = choose(keys);
  const auto n = static_cast<std::size_t>(layers);
  if (key.empty() || !is_list(key)) {
    return std::vector<std::int64_t>(n, key.empty() ? fallback : count({key}, high, fallback));
  }
  auto values = reader_.integers(key, Range::between(0, static_cast<double>(high)));
  if (values && values->size() != n) {
    fault(key, "lists " + std::to_string(values->size()) + " layers, the model has " +
                   std::to_string(layers));
  }
  if (!values || values->size() != n) return std::vector<std::int64_t>(n, fallback);
  return *values;
}

std::optional<Config> Config::object(std::string_view key) {
  auto reader = reader_.object(key);
  if (!reader) return std::nullopt;
  return Config(*reader, true, *notes_);
}

std::vector<Config> Config::objects(std::string_view key) {
  std::vector<Config> configs;
  for (ObjectReader& reader : reader_.objects(key)) configs.emplace_back(reader, true, *notes_);
  return configs;
}

void Config::refuse_unknown(bool only_note) {
  for (const std::string& key : reader_.unread_keys()) {
    if (known_harmless(key) || !looks_arithmetical(key)) continue;
    const Json* value = reader_.raw(key);
    if (!could_count(key, value)) continue;
    if (only_note) {
      note(reader_.pointer(key) + " ignored: unknown in this family");
    } else {
      fault(key, "unknown key that could change the arithmetic (" + describe(*value) +
                     "); --assume FAMILY reads the file without it");
    }
  }
}

}  // namespace tokenroof::io
