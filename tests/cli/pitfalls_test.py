"""Wrong numbers that other tools gave, through the whole tool: each test names the report it is about."""
import tool

GIB = 2**30
LLAMA_8B = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
            "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
            "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
            "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
QWEN_72B = LLAMA_8B | {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
                       "hidden_size": 8192, "intermediate_size": 29696, "num_attention_heads": 64,
                       "num_hidden_layers": 80, "vocab_size": 152064, "torch_dtype": "float16"}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
W4A16 = {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
         "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
             "num_bits": 4, "type": "int", "symmetric": True, "strategy": "group",
             "group_size": 128}}}}


def used(memory):
    """Bytes of a device that one sequence needs: everything but the rest of its pool."""
    lines = {line["name"]: line["bytes"] for line in memory["lines"]}
    return sum(lines.values()) - lines["kv_pool"] - lines["unclaimed"] + \
        memory["kv_bytes_per_sequence_per_device"]


class Weights(tool.ToolTest):
    def test_packed_integers_are_not_parameters(self):
        """AWQ repositories store eight weights in one int32 (odysseus#390): not 7.1 GB, about 40."""
        folder = self.folder / "awq"
        folder.mkdir()
        self.write("awq/config.json", QWEN_72B | {"quantization_config": AWQ})
        self.write("awq/model.safetensors.index.json",
                   {"metadata": {"total_size": 41616000000}, "weight_map": {}})
        model = self.answer("model", "awq")
        self.assertAlmostEqual(model["total_parameters"] / 72.96e9, 1, delta=0.001)
        self.assertEqual(model["file_bytes"], 41616000000)
        self.assertAlmostEqual(model["checkpoint_bytes"] / 41.616e9, 1, delta=0.005)

    def test_packing_does_not_shrink_a_model(self):
        """Llama-3.1-8B in w4a16 still has 8 billion parameters, not 2 (huggingface.js#1770)."""
        model = self.answer("model", self.write("c.json", LLAMA_8B | {"quantization_config": W4A16}))
        self.assertEqual(model["total_parameters"], 8030261248)
        self.assertAlmostEqual(model["checkpoint_bytes"] / 5.70e9, 1, delta=0.01)


class Memory(tool.ToolTest):
    def memory(self, spec, code=0):
        return self.answer("estimate", self.write("s.json", spec), code=code)["memory"]

    def test_hybrid_model_in_a_local_runtime(self):
        """Qwen3.6-27B Q4_K_M at 65,536 with a q8 cache: 17.6 GiB measured, not 24.83 (lilbee#721).
        Three layers of four keep a state instead of a cache."""
        memory = self.memory({"model": "qwen3.6-27b", "accelerator": "rtx-5090",
                              "engine": "llamacpp",
                              "precision": {"weights": "q4_k_m", "kv_cache": "q8_0"},
                              "workload": {"batch": 1, "context_tokens": 65536}})
        self.assertAlmostEqual(used(memory) / GIB / 17.6, 1, delta=0.06)

    def test_what_the_framework_does_not_see_is_subtracted(self):
        """RCCL took 14 GB that nobody counted (ATOM#1649): every byte of it leaves the pool."""
        def pool(reserve):
            return self.memory({"model": "deepseek-v4-pro", "accelerator": "mi355x",
                                "engine": {"name": "vllm", "reserve": reserve},
                                "deployment": {"tensor_parallel": 8, "expert_parallel": 8},
                                "workload": {"batch": 1, "context_tokens": 8192}}
                               )["kv_pool_bytes_per_device"]
        self.assertEqual(pool("0 GB") - pool("14 GB"), 14_000_000_000)

    def test_a_draft_takes_its_memory(self):
        """A draft's weights and context were left out (llama.cpp#25408): 500 MiB less of pool."""
        def pool(memory):
            return self.memory({"model": "llama-3.1-8b", "accelerator": "rtx-4090",
                                "engine": "llamacpp", "precision": {"weights": "q4_k_m"},
                                "speculation": {"draft_tokens": 3, "acceptance": 0.7,
                                                "draft_cost": 0.05, "draft_memory": memory},
                                "workload": {"batch": 1, "context_tokens": 8192}}
                               )["kv_pool_bytes_per_device"]
        self.assertEqual(pool("0 MiB") - pool("500 MiB"), 500 * 2**20)


class Capacity(tool.ToolTest):
    """TensorRT-LLM, blocks of 32 tokens."""

    def spec(self, **workload):
        return self.write("s.json", {
            "model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "trtllm",
            "precision": {"weights": "bf16", "kv_cache": "bf16"}, "workload": workload})

    def test_batches_beyond_memory_are_not_recommended(self):
        """Seventy-two points were beyond the cache (aiconfigurator#652): capacity counts whole
        blocks, the best batch stays below it, and one more does not fit."""
        context = 4000
        answer = self.answer("estimate", self.spec(batch=8, context_tokens=context))
        pool = answer["memory"]["kv_pool_bytes_per_device"]
        blocks = pool // (32 * 131072)
        capacity = blocks // -(-context // 32)
        self.assertEqual(answer["memory"]["max_concurrency"], capacity)
        self.assertLessEqual(answer["limits"]["optimal_batch"], capacity)
        more = self.answer("estimate", self.spec(batch=capacity + 1, context_tokens=context), code=1)
        self.assertEqual(more["verdict"]["outcome"], "context_does_not_fit")

    def test_requests_beyond_memory_wait(self):
        """Oversubscribed caches cost 40 % of the output and nine times the tail
        (TensorRT-LLM#16827): what does not fit waits, is not served faster, and is said."""
        def at(concurrency):
            return self.answer("estimate", self.spec(concurrency=concurrency, input_tokens=16000,
                                                     output_tokens=2000))
        full = at(40)["memory"]["max_concurrency"]
        below, beyond = at(full)["serving"], at(4 * full)
        serving = beyond["serving"]
        self.assertLessEqual(serving["running"], full * 1.2)  # live contexts are shorter
        self.assertLess(serving["request_rate_per_s"], 1.2 * below["request_rate_per_s"])
        self.assertGreater(serving["ttft_s"]["mean"], 5 * below["ttft_s"]["mean"])


tool.main()
