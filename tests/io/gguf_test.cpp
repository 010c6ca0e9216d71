// GGUF headers written here byte by byte, right and wrong.
#include "tokenroof/io/gguf.hpp"

#include <cstring>
#include <fstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/hf_config.hpp"
#include "tokenroof/physics/parameters.hpp"

using namespace tokenroof;
using Catch::Matchers::Contains;

namespace {

/// Writes the parts of a header in their order.
class Writer {
 public:
  template <class T>
  Writer& put(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_.append(bytes, sizeof(T));
    return *this;
  }
  Writer& put_text(const std::string& text) {
    put<std::uint64_t>(text.size());
    out_ += text;
    return *this;
  }
  Writer& number(const std::string& key, std::uint32_t value) {
    ++pairs_;
    return put_text(key).put<std::uint32_t>(4).put(value);
  }
  Writer& text(const std::string& key, const std::string& value) {
    ++pairs_;
    return put_text(key).put<std::uint32_t>(8).put_text(value);
  }
  Writer& list(const std::string& key, const std::vector<std::uint32_t>& values) {
    ++pairs_;
    put_text(key).put<std::uint32_t>(9).put<std::uint32_t>(4).put<std::uint64_t>(values.size());
    for (const std::uint32_t value : values) put(value);
    return *this;
  }
  Writer& texts(const std::string& key, std::size_t count) {
    ++pairs_;
    put_text(key).put<std::uint32_t>(9).put<std::uint32_t>(8).put<std::uint64_t>(count);
    for (std::size_t i = 0; i < count; ++i) put_text("token");
    return *this;
  }
  Writer& tensor(const std::string& name, const std::vector<std::uint64_t>& shape,
                 std::uint32_t type) {
    ++tensors_;
    put_text(name).put<std::uint32_t>(static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t extent : shape) put(extent);
    return put(type).put<std::uint64_t>(0);
  }
  [[nodiscard]] std::string file(std::uint32_t version = 3) const {
    Writer head;
    head.out_ = "GGUF";
    head.put(version).put(tensors_).put(pairs_);
    return head.out_ + out_;
  }

 private:
  std::string out_;
  std::uint64_t pairs_ = 0;
  std::uint64_t tensors_ = 0;
};

constexpr std::uint32_t f32 = 0;
constexpr std::uint32_t q8_0 = 8;
constexpr std::uint32_t q4_k = 12;
constexpr std::uint32_t q6_k = 14;

Writer llama_header() {
  Writer w;
  w.text("general.architecture", "llama").number("llama.block_count", 2);
  w.number("llama.embedding_length", 256).number("llama.context_length", 4096);
  w.number("llama.attention.head_count", 4).number("llama.attention.head_count_kv", 2);
  w.texts("tokenizer.ggml.tokens", 1000);
  return w;
}

void add_block(Writer& w, int i) {
  const std::string blk = "blk." + std::to_string(i) + ".";
  w.tensor(blk + "attn_norm.weight", {256}, f32).tensor(blk + "ffn_norm.weight", {256}, f32);
  w.tensor(blk + "attn_q.weight", {256, 256}, q4_k).tensor(blk + "attn_k.weight", {256, 128}, q4_k);
  w.tensor(blk + "attn_v.weight", {256, 128}, q6_k);
  w.tensor(blk + "attn_output.weight", {256, 256}, q4_k);
  w.tensor(blk + "ffn_gate.weight", {256, 512}, q4_k)
      .tensor(blk + "ffn_up.weight", {256, 512}, q4_k);
  w.tensor(blk + "ffn_down.weight", {512, 256}, q6_k);
}

Writer small_llama() {
  Writer w = llama_header();
  w.tensor("token_embd.weight", {256, 1000}, q8_0).tensor("output.weight", {256, 1000}, q6_k);
  w.tensor("output_norm.weight", {256}, f32);
  add_block(w, 0);
  add_block(w, 1);
  return w;
}

std::string refusal(const std::string& bytes) {
  try {
    const Model model = io::read_gguf_header(bytes, "m.gguf");
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a dense GGUF file: geometry, counts, bytes", "[gguf]") {
  for (const std::uint32_t version : {2U, 3U}) {
    const Model model = io::read_gguf_header(small_llama().file(version), "small.gguf");
    CHECK(model.id == "small");
    CHECK(model.architecture == "llama");
    CHECK(model.hidden == 256);
    CHECK(model.vocabulary == 1000);
    CHECK_FALSE(model.tied_embeddings);
    REQUIRE(model.groups.size() == 1);
    CHECK(model.groups[0].count == 2);
    const Attention& attention = model.groups[0].attention;
    CHECK(attention.query_heads == 4);
    CHECK(attention.kv_heads == 2);
    CHECK(attention.key_dim == 64);
    CHECK(attention.extra_weights == 0);
    CHECK(model.groups[0].feed_forward.width == 512);
    CHECK(model.groups[0].feed_forward.gated);
    const std::int64_t layer = 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512 + 2 * 256;
    CHECK(parameter_count(model).total == 2 * 256 * 1000 + 256 + 2 * layer);

    const std::int64_t q4 = (2 * 256 * 256 + 256 * 128 + 2 * 256 * 512) / 256 * 144;
    const std::int64_t q6 = (256 * 128 + 512 * 256) / 256 * 210;
    const std::int64_t bytes =
        256 * 1000 / 32 * 34 + 256 * 1000 / 256 * 210 + 256 * 4 + 2 * (q4 + q6 + 2 * 256 * 4);
    CHECK(model.file_bytes == bytes);
    CHECK(checkpoint_bytes(model).base() == Approx(static_cast<double>(bytes)));
    CHECK(model.checkpoint.precision.of(Part::attention).name == "q4_k");
    CHECK(model.checkpoint.precision.of(Part::embedding) == formats::q8_0);
  }
}

TEST_CASE("tied head, per-layer KV heads, windows, mixtures", "[gguf]") {
  Writer w;
  w.text("general.architecture", "gemma4").number("gemma4.block_count", 2);
  w.number("gemma4.embedding_length", 256).number("gemma4.attention.head_count", 4);
  w.list("gemma4.attention.head_count_kv", {2, 1}).number("gemma4.attention.key_length", 128);
  w.number("gemma4.attention.value_length", 128).number("gemma4.attention.key_length_swa", 64);
  w.number("gemma4.attention.value_length_swa", 64);
  w.number("gemma4.attention.sliding_window", 1024);
  w.list("gemma4.attention.sliding_window_pattern", {1, 0});
  w.number("gemma4.expert_used_count", 2);
  w.tensor("token_embd.weight", {256, 1000}, q8_0);
  for (int i = 0; i < 2; ++i) {
    const std::string blk = "blk." + std::to_string(i) + ".";
    const std::uint64_t dim = i == 0 ? 64 : 128;
    w.tensor(blk + "attn_q.weight", {256, 4 * dim}, q8_0);
    w.tensor(blk + "attn_k.weight", {256, 128}, q8_0)
        .tensor(blk + "attn_v.weight", {256, 128}, q8_0);
    w.tensor(blk + "attn_output.weight", {4 * dim, 256}, q8_0);
    w.tensor(blk + "ffn_gate_inp.weight", {256, 8}, f32);
    w.tensor(blk + "ffn_gate_exps.weight", {256, 64, 8}, q8_0);
    w.tensor(blk + "ffn_up_exps.weight", {256, 64, 8}, q8_0);
    w.tensor(blk + "ffn_down_exps.weight", {64, 256, 8}, q8_0);
  }
  const Model model = io::read_gguf_header(w.file(), "g.gguf");
  CHECK(model.tied_embeddings);
  REQUIRE(model.groups.size() == 2);
  CHECK(model.groups[0].attention.window == 1024);
  CHECK(model.groups[0].attention.kv_heads == 2);
  CHECK(model.groups[0].attention.key_dim == 64);
  CHECK(model.groups[1].attention.window == 0);
  CHECK(model.groups[1].attention.kv_heads == 1);
  CHECK(model.groups[1].attention.key_dim == 128);
  const FeedForward& mixture = model.groups[0].feed_forward;
  CHECK(mixture.kind == FeedForwardKind::mixture);
  CHECK(mixture.experts == 8);
  CHECK(mixture.top_k == 2);
  CHECK(mixture.expert_width == 64);
  const ParameterCount count = parameter_count(model);
  CHECK(count.routed_experts == 2 * 8 * 3 * 256 * 64);
  CHECK(count.total - count.active == 2 * 6 * 3 * 256 * 64);
}

TEST_CASE("read_model recognises the file by its magic", "[gguf]") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "tokenroof-test.bin";
  std::ofstream(path, std::ios::binary) << small_llama().file();
  CHECK(io::is_gguf(path));
  CHECK(io::read_model(path).hidden == 256);
  std::filesystem::remove(path);
  CHECK_FALSE(io::is_gguf("/no/such/file"));
}

TEST_CASE("truncated at every byte: refused, never a crash", "[gguf]") {
  const std::string whole = small_llama().file();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    INFO(length);
    CHECK(refusal(whole.substr(0, length)) != "accepted");
  }
}

TEST_CASE("hostile headers", "[gguf]") {
  CHECK_THAT(refusal("GGUX0000"), Contains("no GGUF"));
  CHECK_THAT(refusal(small_llama().file(1)), Contains("version 1"));
  CHECK_THAT(refusal(small_llama().file(0x03000000)), Contains("big-endian"));

  Writer counts;
  const std::string huge =
      std::string("GGUF") + std::string("\3\0\0\0", 4) + std::string(16, '\xff');
  CHECK_THAT(refusal(huge), Contains("more than the file holds"));

  Writer list;
  list.text("general.architecture", "llama");
  std::string text = list.file();
  text[16] = 2;  // one more pair than there is
  CHECK_THAT(refusal(text), Contains("truncated") || Contains("more than the file"));

  Writer tensor = llama_header();
  tensor.tensor("token_embd.weight", {1ULL << 62, 1ULL << 62}, f32);
  CHECK_THAT(refusal(tensor.file()), Contains("token_embd.weight") && Contains("cannot be right"));

  Writer type = llama_header();
  type.tensor("token_embd.weight", {256, 1000}, 99);
  CHECK_THAT(refusal(type.file()), Contains("unknown tensor type 99"));

  Writer rows = llama_header();
  rows.tensor("token_embd.weight", {100, 1000}, q4_k);
  CHECK_THAT(refusal(rows.file()), Contains("no whole blocks"));

  Writer split = small_llama();
  CHECK_THAT(refusal(Writer(split).file()), Contains("accepted"));
  Writer layers;
  layers.text("general.architecture", "llama").number("llama.block_count", 1000000000);
  layers.number("llama.embedding_length", 256).number("llama.attention.head_count", 4);
  CHECK_THAT(refusal(layers.file()), Contains("llama.block_count"));
  Writer blocks = small_llama();
  add_block(blocks, 7);
  CHECK_THAT(refusal(blocks.file()), Contains("blk.7"));
}
