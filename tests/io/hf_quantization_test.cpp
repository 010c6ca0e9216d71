// Which parts of a checkpoint are stored in which format, by what the file says.
#include "../../src/io/hf_module_pattern.hpp"
#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/hf_config.hpp"
#include "tokenroof/physics/parameters.hpp"

using namespace tokenroof;
using Catch::Matchers::Contains;

namespace {

Precision precision_with(const std::string& quantization,
                         const std::string& architecture = "Qwen3MoeForCausalLM") {
  const std::string text = R"({"architectures": [")" + architecture + R"("], "hidden_size": 256,
    "intermediate_size": 512, "moe_intermediate_size": 64, "num_hidden_layers": 4, "head_dim": 64,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "num_experts": 8,
    "num_experts_per_tok": 2, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "quantization_config": )" +
                           quantization + "}";
  return io::read_model_config(text, "q.json").checkpoint.precision;
}

double bytes(const Precision& precision, Part part) { return precision.of(part).bytes_per_element; }

}  // namespace

TEST_CASE("patterns of ignore lists", "[hf]") {
  using io::covers_module;
  CHECK(covers_module("lm_head", "lm_head"));
  CHECK(covers_module("gate", "model.layers.3.mlp.gate"));
  CHECK_FALSE(covers_module("gate", "model.layers.3.mlp.gate_proj"));
  CHECK(covers_module("model.layers.1.self_attn*", "model.layers.1.self_attn.q_proj"));
  CHECK_FALSE(covers_module("model.layers.1.self_attn*", "model.layers.11.self_attn.q_proj"));
  CHECK(covers_module("model.layers.*.self_attn", "model.layers.7.self_attn.o_proj"));
  CHECK(covers_module("re:.*self_attn.*", "model.layers.0.self_attn.q_proj"));
  CHECK(covers_module(R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)", "model.layers.0.mlp.up_proj"));
  CHECK_FALSE(covers_module(R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)",
                            "model.layers.0.mlp.experts.0.up_proj"));
  CHECK(covers_module(R"(re:model\.layers\.\d+\.mlp)", "model.layers.12.mlp.up_proj"));
  CHECK(covers_module("re:^lm_[a-h]+$", "lm_head"));
  // A pattern made to backtrack ends without a match instead of running on.
  CHECK_FALSE(covers_module("re:(a*)*(a*)*(a*)*(a*)*b", std::string(60, 'a')));
}

TEST_CASE("block fp8 covers linear layers, not head, router and embedding", "[hf]") {
  const Precision p = precision_with(
      R"({"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"})");
  CHECK(bytes(p, Part::attention) == 1 + 4.0 / 16384);
  CHECK(bytes(p, Part::routed_experts) == 1 + 4.0 / 16384);
  CHECK(bytes(p, Part::router) == 2);
  CHECK(bytes(p, Part::head) == 2);
  CHECK(bytes(p, Part::embedding) == 2);
}

TEST_CASE("what stays unquantised is said in words", "[hf]") {
  const Model model = io::read_model(TOKENROOF_SOURCE_DIR "/data/models/gpt-oss-120b.json");
  CHECK(model.checkpoint.scope == "kept in bf16: embedding, attention, router, head");
}

TEST_CASE("modelopt: excluded layers count by their share", "[hf]") {
  const Precision p = precision_with(
      R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16,
          "ignore": ["lm_head", "model.layers.0.self_attn*", "model.layers.1.self_attn*"],
          "kv_cache_scheme": {"num_bits": 8, "type": "float"}})");
  CHECK(bytes(p, Part::attention) == Approx((2 + 0.5625) / 2));
  CHECK(bytes(p, Part::routed_experts) == 0.5625);
  CHECK(p.kv_cache == formats::fp8);
}

TEST_CASE("compressed-tensors: groups, regular expressions", "[hf]") {
  const Precision p = precision_with(
      R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups":
          {"group_0": {"targets": ["Linear"], "input_activations": null, "weights":
          {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": true}}},
          "ignore": ["re:.*self_attn.*", "lm_head"]})");
  CHECK(bytes(p, Part::attention) == 2);
  CHECK(bytes(p, Part::routed_experts) == 0.5 + 2.0 / 32);
  CHECK(bytes(p, Part::head) == 2);
}

TEST_CASE("4-bit methods carry scales and zeros", "[hf]") {
  const Precision awq = precision_with(
      R"({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true})");
  CHECK(bytes(awq, Part::attention) == 0.5 + 2.5 / 128);
  const Precision gptq = precision_with(R"({"quant_method": "gptq", "bits": 4, "group_size": 64})");
  CHECK(bytes(gptq, Part::attention) == Approx(0.5 + 2.5 / 64 + 4.0 / 256));
  const Precision three =
      precision_with(R"({"quant_method": "gptq", "bits": 3, "group_size": -1})");
  CHECK(bytes(three, Part::attention) == Approx(3.0 / 8 + 4.0 / 256));
  const Precision nf4 = precision_with(
      R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
          "bnb_4bit_use_double_quant": true})");
  CHECK(nf4.of(Part::attention) == formats::nf4);
  const Precision mx = precision_with(R"({"quant_method": "mxfp4"})");
  CHECK(bytes(mx, Part::routed_experts) == 0.53125);
  CHECK(bytes(mx, Part::attention) == 2);
}

TEST_CASE("an unknown method or number format is refused", "[hf]") {
  CHECK_THROWS_WITH(precision_with(R"({"quant_method": "mystery"})"),
                    Contains("/quantization_config/quant_method") && Contains("mystery"));
  CHECK_THROWS_WITH(precision_with(R"({"quant_method": "modelopt", "quant_algo": "INT1"})"),
                    Contains("/quantization_config/quant_algo"));
}
