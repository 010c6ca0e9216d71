// From a GGUF header to a Model. Geometry (heads, windows, state) comes from the metadata, counts
// and bytes from the tensors, so that both are exact whatever the architecture adds.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "io/families/config.hpp"
#include "io/families/decoder.hpp"
#include "io/gguf_header.hpp"
#include "io/gguf_tensors.hpp"
#include "tokenroof/io/gguf.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {
namespace {

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

/// Which layers see a window only, where the file gives a window but no list: every `period`-th
/// layer is global. 0: all are windowed; -1: llama.cpp ignores the window of this architecture.
int window_period(const std::string& architecture) {
  struct Period {
    std::string_view architecture;
    int period;
  };
  constexpr std::array periods = {
      Period{"gemma2", 2},       Period{"gemma3", 6},  Period{"gemma3n", 5}, Period{"gpt-oss", 2},
      Period{"cohere2", 4},      Period{"exaone4", 4}, Period{"olmo2", 4},   Period{"llama4", 4},
      Period{"smallthinker", 4}, Period{"phi3", 0},    Period{"mistral", 0}};
  for (const Period& period : periods)
    if (period.architecture == architecture) return period.period;
  return -1;
}

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

Geometry read_geometry(const Metadata& meta, std::size_t layers, std::int64_t hidden) {
  Geometry g;
  g.heads = meta.per_layer("attention.head_count", layers, limits::heads, 0);
  g.kv_heads = meta.per_layer("attention.head_count_kv", layers, limits::heads, -1);
  for (std::size_t i = 0; i < layers; ++i)
    if (g.kv_heads[i] < 0) g.kv_heads[i] = g.heads[i];
  const std::int64_t most = *std::max_element(g.heads.begin(), g.heads.end());
  const std::int64_t standard = quotient(hidden, most);
  g.key_dim = meta.count("attention.key_length", limits::head_dim, standard);
  g.value_dim = meta.count("attention.value_length", limits::head_dim, standard);
  g.key_dim_windowed = meta.count("attention.key_length_swa", limits::head_dim, g.key_dim);
  g.value_dim_windowed = meta.count("attention.value_length_swa", limits::head_dim, g.value_dim);
  g.window = static_cast<int>(meta.count("attention.sliding_window", limits::context >> 10));
  if (g.window == 0)
    g.window = static_cast<int>(meta.count("attention.chunk_size", limits::context >> 10));

  // A number says the period, a list the layers.
  const bool listed = meta.has("attention.sliding_window_pattern");
  const auto pattern =
      meta.per_layer("attention.sliding_window_pattern", layers, limits::layers, 0);
  const bool same = std::all_of(pattern.begin(), pattern.end(),
                                [&](std::int64_t p) { return p == pattern.front(); });
  const int period = listed && same && pattern.front() > 1 ? static_cast<int>(pattern.front())
                                                           : window_period(meta.architecture());
  for (std::size_t i = 0; i < layers; ++i) {
    bool windowed = false;
    if (listed && !(same && pattern.front() > 1)) {
      windowed = pattern[i] != 0;
    } else if (period >= 0) {
      windowed = period == 0 || (static_cast<int>(i) + 1) % period != 0;
    }
    g.windowed.push_back(windowed && g.window > 0);
  }
  return g;
}

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
  if (file_bytes > 1e15) faults.add("", "tensors of more than 10^15 bytes");
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
