// Metadata of a GGUF file under its architecture's prefix, and the geometry of its attention.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf_header.hpp"
#include "io/json_reader.hpp"

namespace tokenroof::io {

/// Metadata of the architecture, with limits.
class Metadata {
 public:
  Metadata(const GgufHeader& header, Faults& faults) : header_(&header), faults_(&faults) {
    const auto found = header.texts.find("general.architecture");
    if (found == header.texts.end()) {
      faults.add("general.architecture", "missing");
    } else {
      architecture_ = found->second;
    }
  }

  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] std::string key(std::string_view name) const {
    return architecture_ + "." + std::string(name);
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return header_->numbers.contains(key(name)) || header_->lists.contains(key(name));
  }

  std::int64_t count(std::string_view name, std::int64_t high, std::int64_t fallback = 0) const {
    const auto found = header_->numbers.find(key(name));
    return found == header_->numbers.end() ? fallback : checked(name, found->second, high);
  }
  std::int64_t size(std::string_view name, std::int64_t high) const {
    if (!header_->numbers.contains(key(name))) faults_->add(key(name), "missing");
    const std::int64_t value = count(name, high, 1);
    if (value < 1) faults_->add(key(name), "must be at least 1");
    return std::max<std::int64_t>(1, value);
  }
  /// A number for all layers, or a list with one for each.
  std::vector<std::int64_t> per_layer(std::string_view name, std::size_t layers, std::int64_t high,
                                      std::int64_t fallback) const {
    const auto list = header_->lists.find(key(name));
    if (list == header_->lists.end())
      return std::vector<std::int64_t>(layers, count(name, high, fallback));
    std::vector<std::int64_t> values;
    for (const double value : list->second) values.push_back(checked(name, value, high));
    if (values.size() < layers) {
      faults_->add(key(name), "lists " + std::to_string(values.size()) + " layers, the model has " +
                                  std::to_string(layers));
      values.resize(layers, fallback);
    }
    return values;
  }

 private:
  std::int64_t checked(std::string_view name, double value, std::int64_t high) const {
    if (value >= 0 && value <= static_cast<double>(high) && std::floor(value) == value)
      return static_cast<std::int64_t>(value);
    faults_->add(key(name), "must be an integer from 0 to " + std::to_string(high));
    return 0;
  }

  const GgufHeader* header_;
  Faults* faults_;
  std::string architecture_;
};

/// Heads, head sizes and windows of every layer.
struct Geometry {
  std::vector<std::int64_t> heads;
  std::vector<std::int64_t> kv_heads;
  std::vector<bool> windowed;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t key_dim_windowed = 0;
  std::int64_t value_dim_windowed = 0;
  int window = 0;
};

/// Reads them; `hidden` gives the head size where the file does not.
[[nodiscard]] Geometry read_geometry(const Metadata& meta, std::size_t layers, std::int64_t hidden);

}  // namespace tokenroof::io
