#include "io/gguf_header.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <istream>

#include "tokenroof/core/error.hpp"

namespace tokenroof::io {
namespace {

constexpr std::array types = {
    GgmlType{0, "fp32", 1, 4},        GgmlType{1, "fp16", 1, 2},
    GgmlType{2, "q4_0", 32, 18},      GgmlType{3, "q4_1", 32, 20},
    GgmlType{6, "q5_0", 32, 22},      GgmlType{7, "q5_1", 32, 24},
    GgmlType{8, "q8_0", 32, 34},      GgmlType{9, "q8_1", 32, 36},
    GgmlType{10, "q2_k", 256, 84},    GgmlType{11, "q3_k", 256, 110},
    GgmlType{12, "q4_k", 256, 144},   GgmlType{13, "q5_k", 256, 176},
    GgmlType{14, "q6_k", 256, 210},   GgmlType{15, "q8_k", 256, 292},
    GgmlType{16, "iq2_xxs", 256, 66}, GgmlType{17, "iq2_xs", 256, 74},
    GgmlType{18, "iq3_xxs", 256, 98}, GgmlType{19, "iq1_s", 256, 50},
    GgmlType{20, "iq4_nl", 32, 18},   GgmlType{21, "iq3_s", 256, 110},
    GgmlType{22, "iq2_s", 256, 82},   GgmlType{23, "iq4_xs", 256, 136},
    GgmlType{24, "int8", 1, 1},       GgmlType{25, "int16", 1, 2},
    GgmlType{26, "int32", 1, 4},      GgmlType{27, "int64", 1, 8},
    GgmlType{28, "fp64", 1, 8},       GgmlType{29, "iq1_m", 256, 56},
    GgmlType{30, "bf16", 1, 2},       GgmlType{34, "tq1_0", 256, 54},
    GgmlType{35, "tq2_0", 256, 66},   GgmlType{39, "mxfp4", 32, 17},
    GgmlType{40, "nvfp4", 64, 36},
};

/// Lists longer than any model has layers are tokenizers; they are skipped.
constexpr std::uint64_t longest_list = 4096;
constexpr std::uint64_t longest_text = 1 << 16;

enum Value : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };

/// Bytes of a value of fixed size; 0 for the others.
std::uint64_t value_size(std::uint32_t type) {
  constexpr std::array<std::uint64_t, 13> sizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < sizes.size() ? sizes[type] : 0;
}

class Cursor {
 public:
  Cursor(std::istream& in, std::uint64_t size, const std::string& file)
      : in_(&in), left_(size), file_(&file) {}

  [[noreturn]] void fail(const std::string& where, const std::string& reason) const {
    throw SpecError(*file_, where, reason);
  }
  [[nodiscard]] std::uint64_t left() const { return left_; }

  template <class T>
  T number(const std::string& where) {
    std::array<char, sizeof(T)> bytes{};
    take(bytes.data(), bytes.size(), where);
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::string string(const std::string& where) {
    const auto length = number<std::uint64_t>(where);
    if (length > left_ || length > longest_text)
      fail(where, "a text of " + std::to_string(length) + " bytes cannot be right");
    std::string result(length, '\0');
    take(result.data(), length, where);
    return result;
  }

  void skip(std::uint64_t bytes, const std::string& where) {
    if (bytes > left_) fail(where, "truncated");
    in_->seekg(static_cast<std::streamoff>(bytes), std::ios::cur);
    if (!*in_) fail(where, "truncated");
    left_ -= bytes;
  }

  void skip_string(const std::string& where) { skip(number<std::uint64_t>(where), where); }

 private:
  void take(char* to, std::uint64_t count, const std::string& where) {
    if (count > left_) fail(where, "truncated");
    in_->read(to, static_cast<std::streamsize>(count));
    if (!*in_) fail(where, "truncated");
    left_ -= count;
  }

  std::istream* in_;
  std::uint64_t left_;
  const std::string* file_;
};

double read_number(Cursor& in, std::uint32_t type, const std::string& key) {
  switch (type) {
    case u8:
    case boolean:
      return in.number<std::uint8_t>(key);
    case i8:
      return in.number<std::int8_t>(key);
    case u16:
      return in.number<std::uint16_t>(key);
    case i16:
      return in.number<std::int16_t>(key);
    case u32:
      return in.number<std::uint32_t>(key);
    case i32:
      return in.number<std::int32_t>(key);
    case f32:
      return static_cast<double>(in.number<float>(key));
    case u64:
      return static_cast<double>(in.number<std::uint64_t>(key));
    case i64:
      return static_cast<double>(in.number<std::int64_t>(key));
    case f64:
      return in.number<double>(key);
    default:
      in.fail(key, "unknown type of value " + std::to_string(type));
  }
}

void read_list(Cursor& in, const std::string& key, GgufHeader& header) {
  const auto type = in.number<std::uint32_t>(key);
  const auto length = in.number<std::uint64_t>(key);
  if (type == text) {
    // Every text takes at least its length.
    if (length > in.left() / 8) in.fail(key, "truncated");
    for (std::uint64_t i = 0; i < length; ++i) in.skip_string(key);
    return;
  }
  const std::uint64_t size = value_size(type);
  if (size == 0) in.fail(key, "a list of values of type " + std::to_string(type));
  if (length > in.left() / size) in.fail(key, "truncated");
  if (length > longest_list) {
    in.skip(length * size, key);
    return;
  }
  std::vector<double>& values = header.lists[key];
  for (std::uint64_t i = 0; i < length; ++i) values.push_back(read_number(in, type, key));
}

void read_pair(Cursor& in, GgufHeader& header) {
  const std::string key = in.string("metadata");
  const auto type = in.number<std::uint32_t>(key);
  if (type == text) {
    const auto length = in.number<std::uint64_t>(key);
    if (length > in.left()) in.fail(key, "truncated");
    // Chat templates may be long and say nothing here.
    if (length > longest_text) return in.skip(length, key);
    std::string value(length, '\0');
    for (char& c : value) c = in.number<char>(key);
    header.texts[key] = value;
  } else if (type == list) {
    read_list(in, key, header);
  } else {
    header.numbers[key] = read_number(in, type, key);
  }
}

GgufTensor read_tensor(Cursor& in) {
  GgufTensor tensor;
  tensor.name = in.string("tensors");
  const auto dimensions = in.number<std::uint32_t>(tensor.name);
  if (dimensions < 1 || dimensions > 4)
    in.fail(tensor.name, std::to_string(dimensions) + " dimensions; 1 to 4 are possible");
  double product = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto extent = in.number<std::uint64_t>(tensor.name);
    product *= static_cast<double>(extent);
    if (extent == 0 || product > 1e13)
      in.fail(tensor.name, "a dimension of " + std::to_string(extent) + " cannot be right");
    tensor.shape.push_back(static_cast<std::int64_t>(extent));
  }
  const auto id = in.number<std::uint32_t>(tensor.name);
  tensor.type = ggml_type(id);
  if (tensor.type == nullptr) in.fail(tensor.name, "unknown tensor type " + std::to_string(id));
  if (tensor.shape.front() % tensor.type->elements != 0)
    in.fail(tensor.name, "rows of " + std::to_string(tensor.shape.front()) +
                             " are no whole blocks of " + std::string(tensor.type->name));
  in.number<std::uint64_t>(tensor.name);  // offset
  return tensor;
}

}  // namespace

const GgmlType* ggml_type(std::uint32_t id) {
  for (const GgmlType& type : types)
    if (type.id == id) return &type;
  return nullptr;
}

std::int64_t GgufTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

std::int64_t GgufTensor::bytes() const { return elements() / type->elements * type->bytes; }

GgufHeader read_gguf_raw(std::istream& stream, std::uint64_t size, const std::string& file) {
  Cursor in(stream, size, file);
  if (in.number<std::uint32_t>("magic") != 0x46554747U) in.fail("magic", "no GGUF file");
  const auto version = in.number<std::uint32_t>("version");
  if (version != 2 && version != 3) {
    in.fail("version", version > 0xFFFF
                           ? "a big-endian file"
                           : "version " + std::to_string(version) + "; 2 and 3 are known");
  }
  const auto tensors = in.number<std::uint64_t>("tensor_count");
  const auto pairs = in.number<std::uint64_t>("metadata_kv_count");
  // The least a pair and a tensor can take.
  if (pairs > in.left() / 13)
    in.fail("metadata_kv_count", std::to_string(pairs) +
                                     " pairs are more than the file "
                                     "holds");
  if (tensors > in.left() / 32)
    in.fail("tensor_count", std::to_string(tensors) + " tensors are more than the file holds");

  GgufHeader header;
  for (std::uint64_t i = 0; i < pairs; ++i) read_pair(in, header);
  for (std::uint64_t i = 0; i < tensors; ++i) header.tensors.push_back(read_tensor(in));
  return header;
}

}  // namespace tokenroof::io
