// Every model that ships, against published counts. The table holds numbers from model cards and
// checkpoints, not from this reader; an empty cell is a number that nobody published exactly.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/hf_config.hpp"
#include "tokenroof/physics/kv_cache.hpp"
#include "tokenroof/physics/parameters.hpp"

using namespace tokenroof;

namespace {

const std::filesystem::path folder = TOKENROOF_SOURCE_DIR "/data/models";

/// KV bytes per token in bf16 as if no layer were windowed.
std::int64_t kv_bytes_of_all_layers(const Model& model) {
  double bytes = 0;
  for (const LayerGroup& group : model.groups)
    bytes += group.count * layer_kv_bytes_per_token(group.attention, formats::bf16);
  return static_cast<std::int64_t>(bytes);
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) result.push_back(cell);
  result.resize(4);
  return result;
}

std::int64_t attached(const std::string& id, const std::string& name) {
  for (const Attachment& attachment : io::read_model(folder / (id + ".json")).attachments)
    if (attachment.name == name) return attachment.parameters;
  return -1;
}

/// Bytes of the weights in files, in GiB, as published, against ours.
void check_size(const std::string& id, double gib) {
  INFO(id);
  const Model model = io::read_model(folder / (id + ".json"));
  CHECK(checkpoint_bytes(model) / gibibyte == Approx(gib).epsilon(1e-3));
}

}  // namespace

TEST_CASE("counts equal the published ones to the integer", "[models]") {
  std::ifstream in(TOKENROOF_TEST_DIR "/io/published_models.csv");
  std::string line;
  std::getline(in, line);
  int rows = 0;
  while (std::getline(in, line)) {
    const std::vector<std::string> row = cells(line);
    INFO(row[0]);
    const Model model = io::read_model(folder / (row[0] + ".json"));
    const ParameterCount count = parameter_count(model);
    if (!row[1].empty()) CHECK(count.total == std::stoll(row[1]));
    if (!row[2].empty()) CHECK(count.active == std::stoll(row[2]));
    if (!row[3].empty()) CHECK(kv_bytes_of_all_layers(model) == std::stoll(row[3]));
    ++rows;
  }
  CHECK(rows >= 120);
}

TEST_CASE("every shipped model reads, and its layers are in order", "[models]") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    INFO(entry.path().filename().string());
    const Model model = io::read_model(entry.path());
    CHECK(model.id == entry.path().stem().string());
    CHECK(static_cast<int>(model.order.size()) == model.layers());
    CHECK(model.maximum_context >= 0);
    const ParameterCount count = parameter_count(model);
    CHECK(count.active > 0);
    CHECK(count.active <= count.total);
    CHECK(count.matmul > 0);
    ++files;
  }
  CHECK(files >= 60);
}

TEST_CASE("towers and MTP layers are counted apart", "[models]") {
  CHECK(attached("gemma-3-27b", "vision") == 423060336);    // checkpoint less the decoder
  CHECK(attached("qwen2.5-vl-7b", "vision") == 676550144);  // model card
  CHECK(attached("llama-3.2-11b-vision", "vision") == 895028755);
  CHECK(attached("gemma-3-4b", "vision") == 4300079472 - 3880263168);
  // DeepSeek-V3's file holds 684.5 billion parameters, 671.0 without its MTP layer.
  CHECK(attached("deepseek-v3", "mtp") == 13463426304);
}

TEST_CASE("checkpoints weigh what their files weigh", "[models]") {
  check_size("deepseek-v3", 641.30);
  check_size("deepseek-v3.2", 642.14);
  check_size("llama-3.1-8b", 14.96);
  check_size("llama-3.1-70b", 131.42);
  check_size("mistral-7b-v0.3", 13.50);
  check_size("kimi-k2.5", 554.32);
  check_size("gpt-oss-120b", 121.54 / 2);  // the repository holds the weights twice
  check_size("gemma-3-27b", 51.10);
  check_size("gemma-3-4b", 8.01);
  check_size("gemma-4-26b-a4b", 48.07);
  check_size("nemotron-3-nano-30b-a3b", 58.82);
  check_size("phi-4-mini", 7.15);
  check_size("deepseek-v4-pro", 805.34);
}

TEST_CASE("windows, shared caches and states are where the families put them", "[models]") {
  const auto groups = [](const std::string& id) {
    return io::read_model(folder / (id + ".json")).groups;
  };
  int windowed = 0;
  for (const LayerGroup& group : groups("gemma-3-27b"))
    if (group.attention.window == 1024) windowed += group.count;
  CHECK(windowed == 52);

  int sharing = 0;
  for (const LayerGroup& group : groups("gemma-4-e2b"))
    if (!group.attention.stores_kv) sharing += group.count;
  CHECK(sharing == 20);

  double state = 0;
  int recurrent = 0;
  for (const LayerGroup& group : groups("qwen3-next-80b-a3b")) {
    if (group.attention.kind != AttentionKind::recurrent) continue;
    recurrent += group.count;
    state += group.count * (4.0 * static_cast<double>(group.attention.state_elements) +
                            2.0 * static_cast<double>(group.attention.convolution_elements));
  }
  CHECK(recurrent == 36);
  CHECK(state == 77266944);  // s3.qwen3next.state

  // A window as long as the context is none, and use_sliding_window: false turns it off.
  for (const char* id : {"phi-3.5-mini", "qwen2-72b", "qwen1.5-7b"})
    for (const LayerGroup& group : groups(id)) CHECK(group.attention.window == 0);
}
