#include "io/families/towers.hpp"

namespace tokenroof::io {

void attach_towers(const Json& root, std::int64_t text_hidden, Model& model) {
  (void)text_hidden;
  for (const std::string_view key : {"vision_config", "audio_config", "visual"}) {
    const auto found = root.find(key);
    if (found != root.end() && found->is_object())
      model.attachments.push_back({std::string(key.substr(0, key.find('_'))), 0, 2});
  }
}

}  // namespace tokenroof::io
