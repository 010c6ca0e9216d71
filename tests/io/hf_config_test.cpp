// What the reader understands, and what it refuses, with the place and the reason.
#include "tokenroof/io/hf_config.hpp"

#include <chrono>
#include <fstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/physics/parameters.hpp"

using namespace tokenroof;
using Catch::Matchers::Contains;

namespace {

/// A small Llama; `more` is put into the object, before the rest.
std::string llama(const std::string& more = "") {
  return "{" + more + R"( "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 8,
    "vocab_size": 1000, "tie_word_embeddings": false})";
}

std::string mixtral(const std::string& more) {
  return "{" + more + R"( "architectures": ["MixtralForCausalLM"], "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 8,
    "vocab_size": 1000})";
}

Model read(const std::string& text, const io::ModelOptions& options = {}) {
  return io::read_model_config(text, "config.json", options);
}

std::string refusal(const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  std::string what = "accepted";
  try {
    read(text);
  } catch (const SpecError& error) {
    what = error.what();
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  CHECK(spent.count() < 1.0);
  return what;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a plain file", "[hf]") {
  const Model model = read(llama());
  CHECK(model.family == "llama");
  CHECK(model.architecture == "LlamaForCausalLM");
  CHECK(model.id == "config");
  REQUIRE(model.groups.size() == 1);
  CHECK(model.groups[0].attention.kv_heads == 8);  // absent: as many as heads
  CHECK(model.groups[0].attention.key_dim == 8);
  CHECK(model.layers() == 4);
  CHECK_FALSE(model.tied_embeddings);
  CHECK(parameter_count(model).total ==
        2 * 1000 * 64 + 4 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64);
}

TEST_CASE("head size, KV heads and biases as stated", "[hf]") {
  const Model model =
      read(llama(R"("num_key_value_heads": 2, "head_dim": 32, "attention_bias": true,)"));
  const Attention& attention = model.groups[0].attention;
  CHECK(attention.kv_heads == 2);
  CHECK(attention.key_dim == 32);
  CHECK(attention.small_parameters == 64 + 8 * 32 + 2 * 2 * 32 + 64);  // norm, q, k, v, o
}

TEST_CASE("aliases of the old families", "[hf]") {
  const Model model = read(R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
    "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128, "vocab_size": 100})");
  CHECK(model.tied_embeddings);
  CHECK(model.groups[0].feed_forward.width == 256);
  CHECK_FALSE(model.groups[0].feed_forward.gated);
  CHECK(model.embedding_parameters == (100 + 128) * 64);
}

TEST_CASE("nested and sparse objects take the family's defaults, and say so", "[hf]") {
  const Model model = read(R"({"architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
    "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})");
  CHECK(parameter_count(model).total == 3880263168);
  CHECK_THAT(model.notes.at(0), Contains("family default 262208"));
  // The wrapper of a wrapper.
  const Model omni = read(R"({"architectures": ["Qwen2_5OmniModel"], "thinker_config":
    {"text_config": {"model_type": "qwen2_5_omni_text", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 100}}})");
  CHECK(omni.family == "qwen2");
}

TEST_CASE("an unknown architecture is refused by name unless a family is assumed", "[hf]") {
  const std::string text = with(llama(), "LlamaForCausalLM", "MysteryForCausalLM");
  CHECK_THAT(refusal(text), Contains("config.json: /architectures/0") &&
                                Contains("MysteryForCausalLM") && Contains("--assume"));
  CHECK(read(text, {.assume_family = "llama"}).family == "llama");
  CHECK_THAT(refusal(R"({"model_type": "mystery", "hidden_size": 64})"), Contains("mystery"));
  CHECK_THROWS_WITH(read(text, {.assume_family = "lama"}), Contains("did you mean \"llama\""));
}

TEST_CASE("an unknown key that could count is refused, a harmless one is not", "[hf]") {
  CHECK_THAT(refusal(llama(R"("num_mystery_experts": 8,)")),
             Contains("/num_mystery_experts: unknown key"));
  CHECK_THAT(refusal(llama(R"("num_local_experts": 8,)")), Contains("/num_local_experts"));
  CHECK_THAT(refusal(llama(R"("kv_lora_rank": 512,)")), Contains("/kv_lora_rank"));
  CHECK_THAT(refusal(llama(R"("hybrid_override_pattern": "M*",)")),
             Contains("/hybrid_override_pattern"));
  CHECK(refusal(llama(R"("rope_theta": 5e5, "attention_dropout": 0.1, "bos_token_id": 1,
    "hidden_act": "silu", "num_beams": 1, "num_local_experts": 0, "kv_lora_rank": null,
    "output_hidden_states": false, "max_window_layers": 28,)")) == "accepted");
  // Assumed: noted, not refused.
  const Model model = read(llama(R"("num_mystery_experts": 8,)"), {.assume_family = "llama"});
  CHECK_THAT(model.notes.at(0), Contains("num_mystery_experts"));
}

TEST_CASE("contradictions are refused", "[hf]") {
  CHECK_THAT(refusal(llama(R"("num_key_value_heads": 3,)")),
             Contains("/num_key_value_heads") && Contains("not a multiple of 3"));
  CHECK_THAT(refusal(llama(R"("num_key_value_heads": 16,)")), Contains("more than the 8"));
  CHECK_THAT(refusal(with(llama(), "\"hidden_size\": 64", "\"hidden_size\": 63")),
             Contains("/hidden_size") && Contains("head_dim is absent"));
  CHECK_THAT(refusal(llama(R"("n_layer": 5,)")), Contains("contradicts"));
  CHECK_THAT(refusal(mixtral(R"("num_local_experts": 8, "num_experts_per_tok": 9,)")),
             Contains("/num_experts_per_tok: 9 experts per token, of 8"));
  CHECK_THAT(refusal(R"({"architectures": ["Gemma2ForCausalLM"], "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000,
    "head_dim": 8, "layer_types": ["full_attention"]})"),
             Contains("/layer_types: lists 1 layers, the model has 4"));
  CHECK_THAT(refusal(R"({"architectures": ["Gemma2ForCausalLM"], "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 8, "vocab_size": 1000,
    "head_dim": 8, "layer_types": ["mystery_attention"]})"),
             Contains("unknown kind of layer \"mystery_attention\""));
  CHECK_THAT(refusal(R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 64,
    "num_hidden_layers": 3, "hybrid_override_pattern": "M*", "vocab_size": 100})"),
             Contains("/num_hidden_layers") && Contains("the pattern lists 2 layers"));
}

TEST_CASE("broken files are refused quickly, all faults at once", "[hf]") {
  CHECK_THAT(refusal(llama().substr(0, 100)), Contains("config.json"));
  CHECK_THAT(refusal(""), Contains("config.json"));
  CHECK_THAT(refusal("[]"), Contains("object"));
  CHECK_THAT(refusal("{}"), Contains("/model_type: missing"));
  CHECK_THAT(
      refusal(with(llama(), "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 1000000000")),
      Contains("/num_hidden_layers"));
  CHECK_THAT(refusal(with(llama(), "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 0")),
             Contains("/num_hidden_layers"));
  CHECK_THAT(refusal(with(llama(), "\"vocab_size\": 1000", "\"vocab_size\": \"many\"")),
             Contains("/vocab_size"));
  CHECK_THAT(refusal(with(llama(), "\"vocab_size\": 1000", "\"vocab_size\": 1e30")),
             Contains("/vocab_size"));
  CHECK_THAT(refusal(llama(R"("head_dim": 1.5,)")), Contains("/head_dim"));
  CHECK_THAT(refusal(llama(R"("tie_word_embeddings": false,)")), Contains("tie_word_embeddings"));
  const std::string all = refusal(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": -1,
        "num_attention_heads": "eight", "vocab_size": 10, "num_widgets_per_layer": 3})");
  CHECK_THAT(all, Contains("/hidden_size") && Contains("/num_attention_heads") &&
                      Contains("/num_hidden_layers: missing") &&
                      Contains("/intermediate_size: missing") &&
                      Contains("/num_widgets_per_layer"));
}

TEST_CASE("Infinity, which Python writes, reads as absent", "[hf]") {
  CHECK(refusal(llama(R"("time_step_limit": [0.0, Infinity],)")) == "accepted");
}

TEST_CASE("mixtures: which layers hold one, and how large", "[hf]") {
  const Model model = read(R"({"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 64,
    "intermediate_size": 256, "moe_intermediate_size": 32, "num_hidden_layers": 6,
    "num_attention_heads": 4, "vocab_size": 100, "q_lora_rank": 16, "kv_lora_rank": 8,
    "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4, "n_routed_experts": 8,
    "num_experts_per_tok": 2, "n_shared_experts": 2, "first_k_dense_replace": 2,
    "moe_layer_freq": 1})");
  CHECK(model.order == std::vector<int>{0, 0, 1, 1, 1, 1});
  const FeedForward& mixture = model.groups[1].feed_forward;
  CHECK(mixture.experts == 8);
  CHECK(mixture.top_k == 2);
  CHECK(mixture.shared_width == 64);
  CHECK(mixture.router_weights == 64 * 8);

  const Model listed = read(R"({"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64,
    "intermediate_size": 256, "moe_intermediate_size": 32, "num_hidden_layers": 6, "head_dim": 16,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "num_experts": 8,
    "num_experts_per_tok": 2, "decoder_sparse_step": 2, "mlp_only_layers": [3]})");
  CHECK(listed.order == std::vector<int>{0, 1, 0, 0, 0, 1});
}

TEST_CASE("searched Nemotrons: blocks without attention, networks of other widths", "[hf]") {
  const Model model = read(R"({"architectures": ["DeciLMForCausalLM"], "model_type": "nemotron-nas",
    "hidden_size": 8192, "num_hidden_layers": 2, "num_attention_heads": 64, "vocab_size": 128256,
    "intermediate_size": null, "num_key_value_heads": null, "tie_word_embeddings": false,
    "block_configs": [
      {"attention": {"n_heads_in_group": 8, "no_op": false, "replace_with_linear": false},
       "ffn": {"ffn_mult": 5.25, "no_op": false, "replace_with_linear": false}},
      {"attention": {"n_heads_in_group": null, "no_op": true, "replace_with_linear": false},
       "ffn": {"ffn_mult": 1.3125, "no_op": false, "replace_with_linear": false}}]})");
  REQUIRE(model.groups.size() == 2);
  CHECK(model.groups[0].attention.kv_heads == 8);
  CHECK(model.groups[0].feed_forward.width == 28672);
  CHECK(model.groups[1].attention.kind == AttentionKind::none);
  CHECK(model.groups[1].feed_forward.width == 7168);
}

TEST_CASE("a directory with its sidecars", "[hf]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "tokenroof_hf_test" / "my-model";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << llama(R"("torch_dtype": "bfloat16",)");
  std::ofstream(folder / "hf_quant_config.json")
      << R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
             "exclude_modules": ["lm_head"]}})";
  std::ofstream(folder / "model.safetensors.index.json")
      << R"({"metadata": {"total_size": 123456}, "weight_map": {}})";
  const Model model = io::read_model(folder);
  CHECK(model.id == "my-model");
  CHECK(model.file_bytes == 123456);
  CHECK(model.checkpoint.method == "modelopt");
  CHECK(model.checkpoint.precision.of(Part::attention) == formats::fp8);
  CHECK(model.checkpoint.precision.of(Part::head) == formats::bf16);
  CHECK(model.checkpoint.kv_cache == formats::fp8);
  std::filesystem::remove_all(folder.parent_path());

  CHECK_THROWS_AS(io::read_model("/no/such/model"), SpecError);
}
