// Which unread keys may be passed over. A key is refused only when its name looks like a size, a
// count or a pattern, and it is not one of those below.
#include <algorithm>
#include <array>

#include "io/families/config.hpp"

namespace tokenroof::io {
namespace {

using namespace std::string_view_literals;

// Name parts of keys that have changed the arithmetic of some family.
constexpr std::array arithmetical = {
    "layer"sv,    "head"sv,   "expert"sv, "size"sv,   "dim"sv,     "rank"sv,     "window"sv,
    "kv"sv,       "conv"sv,   "state"sv,  "moe"sv,    "hidden"sv,  "inter"sv,    "num_"sv,
    "top_k"sv,    "topk"sv,   "width"sv,  "depth"sv,  "pattern"sv, "block"sv,    "period"sv,
    "freq"sv,     "group"sv,  "embed"sv,  "ffn"sv,    "mlp"sv,     "inner"sv,    "channel"sv,
    "share"sv,    "latent"sv, "lora"sv,   "bias"sv,   "tie"sv,     "qk_norm"sv,  "d_model"sv,
    "expand"sv,   "ratio"sv,  "sparse"sv, "linear"sv, "mamba"sv,   "ssm"sv,      "index"sv,
    "parallel"sv, "mtp"sv,    "nextn"sv,  "sink"sv,   "ngram"sv,   "position"sv, "vocab"sv};

constexpr std::array harmless_prefixes = {
    "rope_"sv,        "rotary_"sv,     "vision_"sv,      "image_"sv,     "video_"sv,
    "audio_"sv,       "img_"sv,        "im_"sv,          "vit_"sv,       "anyres_"sv,
    "mm_"sv,          "speech_"sv,     "summary_"sv,     "projector_"sv, "output_"sv,
    "init_"sv,        "time_step"sv,   "talker_"sv,      "tts_"sv,       "spatial_"sv,
    "visual"sv,       "multimodal_"sv, "aux_loss"sv,     "token_"sv,     "router_"sv,
    "mup_"sv,         "tokenizer"sv,   "generation_"sv,  "mask_"sv,      "activation_"sv,
    "indexer_rope"sv, "num_image"sv,   "moe_capacity"sv, "offset_"sv};

constexpr std::array harmless_suffixes = {
    "_eps"sv,         "_epsilon"sv,      "_token_id"sv,      "_token_ids"sv,      "_token_index"sv,
    "_token"sv,       "_dropout"sv,      "_pdrop"sv,         "_drop"sv,           "_prob"sv,
    "_range"sv,       "_std"sv,          "_coef"sv,          "_coeff"sv,          "_act"sv,
    "_activation"sv,  "_dtype"sv,        "_impl"sv,          "_implementation"sv, "_version"sv,
    "_theta"sv,       "_jitter_noise"sv, "_softcapping"sv,   "_softcap"sv,        "_multiplier"sv,
    "_multipliers"sv, "_in_fp32"sv,      "_scaling"sv,       "_scaling_factor"sv, "_scale"sv,
    "_init"sv,        "_loss"sv,         "_rotary_factor"sv, "_limit"sv,          "_file_name"sv};

constexpr std::array harmless_keys = {
    // What PretrainedConfig writes into any file.
    "num_beams"sv, "num_beam_groups"sv, "num_return_sequences"sv, "num_labels"sv, "top_k"sv,
    "no_repeat_ngram_size"sv, "encoder_no_repeat_ngram_size"sv, "chunk_size_feed_forward"sv,
    "pruned_heads"sv, "architectures"sv, "hidden_act"sv, "hidden_activation"sv,
    "keys_to_ignore_at_inference"sv, "diversity_penalty"sv, "repetition_penalty"sv,
    "tie_encoder_decoder"sv, "max_position_embeddings"sv, "original_max_position_embeddings"sv,
    "pretraining_tp"sv, "model_parallel"sv, "gradient_checkpointing"sv, "attention_dropout"sv,
    "hidden_dropout"sv, "attention_probs_dropout_prob"sv, "hidden_dropout_prob"sv, "layerdrop"sv,
    "classifier_dropout"sv, "_sliding_window_pattern"sv, "return_dict_in_generate"sv,
    "cross_attention_hidden_size"sv, "ignore_index"sv, "transformers.js_config"sv,
    // Routing and normalisation: how, not how much.
    "norm_topk_prob"sv, "n_group"sv, "topk_group"sv, "topk_method"sv, "num_expert_group"sv,
    "use_grouped_topk"sv, "n_groups_limited"sv, "group_limited_greedy"sv, "ep_size"sv,
    "moe_renormalize"sv, "moe_router_activation_func"sv, "moe_router_scaling_factor"sv,
    "moe_router_dtype"sv, "moe_router_topk_scaling_factor"sv, "moe_router_aux_loss"sv,
    "moe_dropout_prob"sv, "moe_aux_loss_coeff"sv, "moe_routed_scaling_factor"sv, "moe_norm_min"sv,
    "moe_token_dispatcher_type"sv, "moe_shared_expert_overlap"sv, "moe_capacity"sv,
    "moe_multimodal_dispatch_use_allgather"sv, "moe_drop_tokens"sv,
    "moe_random_routing_dropped_token"sv, "moe_router_enable_shared_expert"sv, "moe_gate"sv,
    "moe_gate_act"sv, "shared_moe_mode"sv, "score_func"sv, "scoring_func"sv, "layer_norm_type"sv,
    "norm_type"sv, "layer_norm_eps"sv, "layer_norm_epsilon"sv, "rms_norm"sv, "apply_layernorm_1p"sv,
    "parallel_residual"sv, "layernorm_full_attention_alpha"sv, "layernorm_full_attention_beta"sv,
    "layernorm_linear_attention_alpha"sv, "layernorm_linear_attention_beta"sv,
    "layernorm_mlp_alpha"sv, "layernorm_mlp_beta"sv, "scale_attn_by_inverse_layer_idx"sv,
    "reorder_and_upcast_attn"sv, "apply_query_key_layer_scaling"sv, "query_pre_attn_scalar"sv,
    "attention_softmax_in_fp32"sv, "scale_attention_softmax_in_fp32"sv,
    "fp32_residual_connection"sv, "apply_residual_connection_post_layernorm"sv, "norm_head"sv,
    "norm_softmax"sv, "residual_in_fp32"sv, "rescale_prenorm_residual"sv,
    "use_parallel_embedding"sv, "altup_active_idx"sv, "altup_correct_scale"sv, "altup_coef_clip"sv,
    "activation_sparsity_pattern"sv, "skip_bias_add"sv, "bias_dropout_fusion"sv,
    "masked_softmax_fusion"sv, "fused_bias_fc"sv,
    // Where it applies, not what it holds: rotary and attention scaling by layer, training aids.
    "no_rope_layers"sv, "no_rope_layer_interval"sv, "nope_layer_interval"sv, "max_window_layers"sv,
    "full_attn_mod"sv, "interpolate_factor"sv, "mrope_section"sv, "partial_rotary_factors"sv,
    "num_logits_to_keep"sv, "logits_to_keep"sv, "dim_model_base"sv, "mamba_chunk_size"sv,
    "chunk_size"sv, "ssm_chunk_size"sv, "use_mamba_kernels"sv, "mamba_ssm_dtype"sv,
    "mamba_ssm_cache_dtype"sv, "mamba_hidden_act"sv, "mlp_hidden_act"sv, "mlp_type"sv,
    "mlp_activation"sv, "mamba_norm_before_gate"sv, "mlp_init_scale"sv, "num_hash_layers"sv,
    "hc_sinkhorn_iters"sv, "linear_key_multiplier"sv, "prefill_chunk_size"sv,
    "attention_sink_size"sv, "context_window_size"sv, "sliding_window_size"sv,
    "tensor_parallel_shards"sv, "max_batch_size"sv, "tensor_parallel_degree"sv,
    "sequence_parallel"sv, "mtp_use_dedicated_embeddings"sv, "mtp_loss_weight"sv, "use_mtp"sv,
    "qk_norm_type"sv, "index_share_for_mtp_iteration"sv, "seq_length"sv, "n_ctx"sv, "n_positions"sv,
    "rotary_emb_base"sv, "num_media_embeds"sv, "position_id_per_seconds"sv, "seconds_per_chunk"sv,
    "max_sequence_length"sv, "num_crops"sv, "embd_layer"sv, "embedding_fraction"sv,
    "num_heads_for_pooling"sv, "class_num"sv, "dense_list"sv, "pool_type"sv, "org_vocab_size"sv,
    "original_vocab_size"sv, "pad_vocab_size_multiple"sv, "num_memory_blocks"sv, "sep_token_id"sv,
    "quantization_bit"sv, "pre_seq_len"sv, "prefix_projection"sv, "interleaved_sliding_window"sv,
    "layernorm_compute_fp32"sv, "use_cache_quantization"sv, "use_cache_kernel"sv,
    "sliding_window_type"sv, "is_hybrid"sv, "cache_implementation"sv, "learnable_rope_index"sv,
    "position_embedding_type"sv, "position_encoding_2d"sv, "relative_position"sv,
    "use_position_ids"sv, "reset_position_ids"sv, "word_embedding_init"sv,
    "attn_uses_sequence_id"sv, "use_sliding_window"sv, "embd_pdrop"sv, "freq_allocation"sv,
    "micro_batch_size"sv, "moe_every_n_layer"sv, "moe_world_size"sv, "moe_rank"sv,
    "use_embedding_sharing"sv, "norm_expert_weight"sv, "is_composition"sv, "num_mel_bins"sv,
    "max_cache_size"sv, "skip_bias_add_qkv"sv, "num_tokens_per_image"sv,
    "eagle_aux_hidden_state_layer_ids"sv};

}  // namespace

bool known_harmless(std::string_view key) {
  if (!key.empty() && key.front() == '_') return true;
  return std::find(harmless_keys.begin(), harmless_keys.end(), key) != harmless_keys.end() ||
         std::any_of(harmless_prefixes.begin(), harmless_prefixes.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); }) ||
         std::any_of(harmless_suffixes.begin(), harmless_suffixes.end(),
                     [&](std::string_view suffix) { return key.ends_with(suffix); });
}

bool looks_arithmetical(std::string_view key) {
  return key.starts_with("n_") || key.starts_with("d_") || key.starts_with("swa_") ||
         std::any_of(arithmetical.begin(), arithmetical.end(), [&](std::string_view part) {
           return key.find(part) != std::string_view::npos;
         });
}

}  // namespace tokenroof::io
