// 11  What does tiled attention save, and why is it 2-4 times faster with the same arithmetic?
#include "support.hpp"
#include "tokenroof/physics/attention.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const Roof<> roof = roof_of(scenario);
    const double block = spec.one("block_rows");
    const Bytes element = scenario.precision.activations.bytes_per_element * byte;
    const auto head = [&](double length) {
      const Attention& attention = scenario.model.groups.front().attention;
      return AttentionHead{length, static_cast<double>(attention.key_dim), element};
    };
    const auto gain = [&](const Work<>& before, const Work<>& after) {
      return roofline_time(before, roof) / roofline_time(after, roof);
    };

    Rows rows;
    for (const double length : spec.list<double>("prompts")) {
      const Work<> naive = naive_attention(head(length));
      const auto row = [&](const char* kind, const Work<>& work) {
        rows.push_back({length, kind, work.math / gigaflop, work.traffic / megabyte,
                        intensity(work), roofline_time(work, roof) / microsecond,
                        naive.traffic / work.traffic, gain(naive, work)});
      };
      row("naive", naive);
      row("tiled", tiled_attention(head(length), block));
      row("tiled, keys stay on chip", ideal_attention(head(length)));
    }
    report.say(
        "One head of {}, size {}. Naive attention writes the N x N scores, reads them, writes "
        "the probabilities and reads those: 4 N^2 elements beside 4 N d. Tiled attention keeps "
        "scores on chip and streams keys and values once per block of {} queries. Same products, "
        "same result (up to rounding); the softmax is corrected as blocks arrive.",
        scenario.model.id, head(0).head_size, block);
    report.table({"prompt_tokens", "kind", "gflop", "traffic_mb", "intensity_flop_per_byte",
                  "roofline_us", "bytes_ratio", "gain"},
                 rows);

    const auto [batch, prompt] = std::get<SingleStep>(scenario.workload.traffic);
    const Work<> naive = naive_attention(head(prompt.base()));
    const Work<> tiled = tiled_attention(head(prompt.base()), block);
    const Work<> ideal = ideal_attention(head(prompt.base()));
    const auto claimed = spec.list<double>("claimed_gain");
    report.say("Claim: {} to {} times faster on long sequences, because far fewer bytes move.",
               claimed.at(0), claimed.at(1));
    report.say(
        "Right, but not in proportion to the bytes. At {} tokens naive attention has {} FLOP/B, "
        "tiled {}: {} times fewer bytes and {} times the speed when every block fetches its keys "
        "from memory. If the on-chip cache serves them, bytes fall {} times; then the arithmetic "
        "is the limit (ridge {}) and the gain stops at {}. A causal mask about halves both.",
        prompt, intensity(naive), intensity(tiled), naive.traffic / tiled.traffic,
        gain(naive, tiled), naive.traffic / ideal.traffic, ridge_intensity(roof),
        gain(naive, ideal));
    report.say("The naive scores and probabilities of one head take {}; tiled ones take none.",
               2 * prompt.base() * prompt.base() * element);
  });
}
