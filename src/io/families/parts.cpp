#include "io/families/parts.hpp"

#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {

std::int64_t layer_parameters(const Layer& layer, std::int64_t hidden) {
  Model one;
  one.hidden = hidden;
  one.has_head = false;
  one.groups = {{layer.name, layer.attention, layer.feed_forward, 1}};
  return parameter_count(one).total;
}

void attach_mtp(Decoder& decoder, std::int64_t count, const Layer& layer, std::int64_t extra) {
  if (count > 0) decoder.mtp.push_back({count, layer, extra});
}

void add_mamba2(Attention& attention, const Mamba2& m, std::int64_t hidden) {
  const std::int64_t inner = m.heads * m.head_dim;
  const std::int64_t channels = inner + 2 * m.groups * m.state;
  const std::int64_t projected = inner + channels + m.heads;
  attention.input_weights += hidden * projected;
  attention.output_weights += inner * hidden;
  attention.small_parameters += channels * m.kernel + 3 * m.heads;  // convolution; dt, A, D
  if (m.convolution_bias) attention.small_parameters += channels;
  if (m.projection_bias) attention.small_parameters += projected + hidden;
  if (m.gated_norm) attention.small_parameters += inner;
  attention.state_elements += inner * m.state;
  attention.convolution_elements += channels * (m.kernel - 1);
}

Attention mamba1(const Mamba1& m, std::int64_t hidden) {
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  mixer.input_weights = hidden * 2 * m.inner + m.inner * (m.rank + 2 * m.state) + m.rank * m.inner;
  mixer.output_weights = m.inner * hidden;
  // Convolution, bias of the time step, A, D.
  mixer.small_parameters = m.inner * m.kernel + m.inner + m.inner * m.state + m.inner;
  if (m.convolution_bias) mixer.small_parameters += m.inner;
  if (m.projection_bias) mixer.small_parameters += 2 * m.inner + hidden;
  if (m.inner_norms) mixer.small_parameters += m.rank + 2 * m.state;
  mixer.state_elements = m.inner * m.state;
  mixer.convolution_elements = m.inner * (m.kernel - 1);
  return mixer;
}

Attention delta_net(const DeltaNet& n, std::int64_t hidden) {
  const std::int64_t keys = n.key_heads * n.key_dim;
  const std::int64_t values = n.value_heads * n.value_dim;
  const std::int64_t channels = 2 * keys + values;
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  // Queries, keys, values, output gate; decay and write strength per value head.
  mixer.input_weights = hidden * (channels + values + 2 * n.value_heads);
  mixer.output_weights = values * hidden;
  mixer.small_parameters = channels * n.kernel + 2 * n.value_heads + n.value_dim;
  mixer.state_elements = n.value_heads * n.key_dim * n.value_dim;
  mixer.convolution_elements = channels * (n.kernel - 1);
  return mixer;
}

}  // namespace tokenroof::io
