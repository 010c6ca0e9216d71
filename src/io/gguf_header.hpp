// The raw header of a GGUF file: metadata and tensor list, with every length checked against what
// the file can hold before anything is allocated. Format: ggml/docs/gguf.md, versions 2 and 3.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenroof::io {

/// How ggml stores numbers: `bytes` for each block of `elements`.
struct GgmlType {
  std::uint32_t id = 0;
  std::string_view name;
  std::int64_t elements = 1;
  std::int64_t bytes = 1;
};
/// nullptr for types that are not known.
[[nodiscard]] const GgmlType* ggml_type(std::uint32_t id);

struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< fastest dimension first, as in the file
  const GgmlType* type = nullptr;

  [[nodiscard]] std::int64_t elements() const;
  /// Rows are padded to whole blocks; a partial one is refused on reading.
  [[nodiscard]] std::int64_t bytes() const;
};

/// Numbers as double (exact to 2^53) and lists of them; long lists and lists of texts are skipped.
struct GgufHeader {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<double>> lists;
  std::vector<GgufTensor> tensors;
};

/// Reads from the beginning of `in`, which holds `size` bytes. Throws SpecError with the key or
/// tensor where the header breaks.
[[nodiscard]] GgufHeader read_gguf_raw(std::istream& in, std::uint64_t size,
                                       const std::string& file);

}  // namespace tokenroof::io
