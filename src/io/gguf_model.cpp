// From a GGUF header to a Model. Geometry (heads, windows, state) comes from the metadata, counts
// and bytes from the tensors, so that both are exact whatever the architecture adds.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "io/families/config.hpp"
#include "io/families/decoder.hpp"
#include "io/gguf_header.hpp"
#include "io/gguf_metadata.hpp"
#include "io/gguf_tensors.hpp"
#include "tokenroof/io/gguf.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {
namespace {

Attention latent_from(const Metadata& meta, std::int64_t heads) {
  Attention a;
  a.kind = AttentionKind::latent;
  a.query_heads = static_cast<int>(heads);
  a.kv_heads = 1;
  a.latent_rank = static_cast<int>(meta.count("attention.kv_lora_rank", limits::hidden));
  a.query_rank = static_cast<int>(meta.count("attention.q_lora_rank", limits::hidden));
  a.rotary_dim = static_cast<int>(meta.count("rope.dimension_count", limits::head_dim));
  // Newer files give the head sizes under _mla, and those of the latent without.
  const std::int64_t key = meta.has("attention.key_length_mla")
                               ? meta.count("attention.key_length_mla", limits::head_dim)
                               : meta.count("attention.key_length", limits::head_dim);
  const std::int64_t value = meta.has("attention.value_length_mla")
                                 ? meta.count("attention.value_length_mla", limits::head_dim)
                                 : meta.count("attention.value_length", limits::head_dim);
  a.key_dim = static_cast<int>(std::max<std::int64_t>(0, key - a.rotary_dim));
  a.value_dim = static_cast<int>(value);
  a.index_heads = static_cast<int>(meta.count("attention.indexer.head_count", limits::heads));
  a.index_dim = static_cast<int>(meta.count("attention.indexer.key_length", limits::head_dim));
  a.index_top_k = static_cast<int>(meta.count("attention.indexer.top_k", limits::context >> 16));
  return a;
}

Attention attention_from(const Metadata& meta, const Geometry& g, const Sums& sums, std::size_t i,
                         std::int64_t hidden) {
  Attention a;
  const bool attends = g.kv_heads[i] > 0 && (sums.query_projection || sums.key_projection);
  if (sums.latent) {
    a = latent_from(meta, g.heads[i]);
  } else if (attends) {
    a.query_heads = static_cast<int>(g.heads[i]);
    a.kv_heads = static_cast<int>(g.kv_heads[i]);
    a.key_dim = static_cast<int>(g.windowed[i] ? g.key_dim_windowed : g.key_dim);
    a.value_dim = static_cast<int>(g.windowed[i] ? g.value_dim_windowed : g.value_dim);
    if (g.windowed[i]) a.window = g.window;
    const auto shared =
        static_cast<std::size_t>(meta.count("attention.shared_kv_layers", limits::layers));
    a.stores_kv = i + shared < g.heads.size();
    a.has_kv_projection = sums.key_projection;
  } else {
    a.kind = sums.recurrent ? AttentionKind::recurrent : AttentionKind::none;
  }
  if (sums.recurrent) {
    const std::int64_t inner = meta.count("ssm.inner_size", limits::width);
    const std::int64_t state = meta.count("ssm.state_size", limits::head_dim);
    const std::int64_t groups = meta.count("ssm.group_count", limits::heads);
    const std::int64_t kernel = meta.count("ssm.conv_kernel", 1024, 1);
    a.state_elements = inner * state;
    a.convolution_elements = (inner + 2 * groups * state) * std::max<std::int64_t>(0, kernel - 1);
    const std::int64_t short_cache = meta.count("shortconv.l_cache", 1024);
    if (short_cache > 0) a.convolution_elements = hidden * short_cache;
  }
  // What the shapes do not explain (gates, indexers, missing projections) is counted as it is.
  a.extra_weights = sums.attention - attention_weights(a, hidden);
  a.small_parameters = sums.attention_small;
  return a;
}

/// What lies outside the blocks. Projections there are counted with the first layer.
void add_outer(const GgufTensor& tensor, Model& model, std::int64_t& extra) {
  const std::int64_t n = tensor.elements();
  if (tensor.name == "output.weight") {
    model.tied_embeddings = false;
    model.head_weights = n;
  } else if (tensor.name.find("embd") != std::string::npos &&
             tensor.name.find("norm") == std::string::npos) {
    model.embedding_parameters += n;
  } else if (is_small(tensor, tensor.name)) {
    // Frequencies of rotary embeddings are constants, not parameters.
    if (!tensor.name.starts_with("rope_freqs")) model.final_small_parameters += n;
  } else {
    extra += n;
  }
}

Model build(const GgufHeader& header, const std::string& file) {
  Faults faults(file);
  const Metadata meta(header, faults);
  faults.throw_if_any();
  if (const auto split = header.numbers.find("split.count");
      split != header.numbers.end() && split->second > 1)
    faults.add("split.count", "one of several parts; join them with llama-gguf-split --merge");
  const std::int64_t blocks = meta.size("block_count", limits::layers);
  const std::int64_t mtp = meta.count("nextn_predict_layers", limits::layers);
  const std::int64_t hidden = meta.size("embedding_length", limits::hidden);
  if (mtp >= blocks) faults.add(meta.key("nextn_predict_layers"), "as many as there are blocks");
  faults.throw_if_any();

  const auto layers = static_cast<std::size_t>(blocks - mtp);
  std::vector<Sums> sums(static_cast<std::size_t>(blocks));
  Decoder decoder;
  Model& model = decoder.model;
  model.hidden = hidden;
  model.tied_embeddings = true;
  model.architecture = meta.architecture();
  model.family = "gguf";
  model.maximum_context = meta.count("context_length", limits::context);
  std::int64_t extra = 0;
  double file_bytes = 0;
  std::vector<GgufTensor> decoder_tensors;
  for (const GgufTensor& tensor : header.tensors) {
    file_bytes += static_cast<double>(tensor.bytes());
    if (file_bytes > 1e15) {
      faults.add(tensor.name, "tensors of more than 10^15 bytes");
      break;
    }
    if (tensor.name == "token_embd.weight" && tensor.shape.size() == 2)
      model.vocabulary = tensor.shape[1];
    const auto block = block_of(tensor.name);
    if (!block) {
      add_outer(tensor, model, extra);
      decoder_tensors.push_back(tensor);
      continue;
    }
    if (block->first >= sums.size()) {
      faults.add(tensor.name, "beyond the " + std::to_string(blocks) + " blocks");
      break;
    }
    add_tensor(tensor, block->second, sums[block->first]);
    if (block->first < layers) decoder_tensors.push_back(tensor);
  }
  if (model.vocabulary == 0) faults.add("token_embd.weight", "missing");
  const Geometry geometry = read_geometry(meta, layers, hidden);
  faults.throw_if_any();

  for (std::size_t i = 0; i < layers; ++i) {
    Layer layer;
    layer.attention = attention_from(meta, geometry, sums[i], i, hidden);
    layer.feed_forward = network_from(
        sums[i], static_cast<double>(meta.count("expert_used_count", limits::experts, 1)), hidden);
    layer.name = sums[i].routed > 0 ? "mixture" : "dense";
    if (sums[i].attention == 0 && sums[i].attention_small == 0)
      faults.add("blk." + std::to_string(i), "no tensors");
    if (layer.feed_forward.kind == FeedForwardKind::mixture &&
        layer.feed_forward.top_k > layer.feed_forward.experts)
      faults.add(meta.key("expert_used_count"), "more than the experts");
    if (layer.attention.kind == AttentionKind::grouped &&
        geometry.heads[i] % geometry.kv_heads[i] != 0)
      faults.add(meta.key("attention.head_count_kv"), "does not divide the query heads");
    decoder.layers.push_back(layer);
    if (faults.size() > 20) break;
  }
  faults.throw_if_any();
  decoder.layers.front().feed_forward.extra_weights += extra;

  model = finished(std::move(decoder));
  model.checkpoint.method = "gguf";
  if (geometry.window > 0 &&
      std::none_of(geometry.windowed.begin(), geometry.windowed.end(), [](bool w) { return w; }))
    model.notes.push_back(meta.key("attention.sliding_window") +
                          " is not applied, as llama.cpp does not for this architecture");
  set_precision(decoder_tensors, model);
  std::int64_t mtp_parameters = 0;
  double mtp_bytes = 0;
  for (const GgufTensor& tensor : header.tensors) {
    const auto block = block_of(tensor.name);
    if (!block || block->first < layers) continue;
    mtp_parameters += tensor.elements();
    mtp_bytes += static_cast<double>(tensor.bytes());
  }
  if (mtp_parameters > 0)
    model.attachments.push_back(
        {"mtp", mtp_parameters, mtp_bytes / static_cast<double>(mtp_parameters)});
  model.file_bytes = static_cast<std::int64_t>(file_bytes);
  model.id = std::filesystem::path(file).stem().string();
  return model;
}

}  // namespace

bool is_gguf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, 4> magic{};
  return in.read(magic.data(), 4) && std::string_view(magic.data(), 4) == "GGUF";
}

Model read_gguf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (!in || error) throw SpecError(path.string(), "", "cannot be read");
  return build(read_gguf_raw(in, size, path.string()), path.string());
}

Model read_gguf_header(std::string_view bytes, const std::string& file_name) {
  std::istringstream in{std::string(bytes)};
  return build(read_gguf_raw(in, bytes.size(), file_name), file_name);
}

}  // namespace tokenroof::io
