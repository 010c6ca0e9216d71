#include "tokenroof/serving/end_to_end.hpp"

#include <vector>

#include "properties.hpp"
#include "tokenroof/serving/random.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("response times that can be said by hand", "[end_to_end]") {
  // A first token after 1 s, 100 more at 10 ms each.
  const ResponseParts sure{.least = 1, .p50 = 1, .p95 = 1, .p99 = 1, .tpot = 0.01};
  CHECK(end_to_end_quantile(sure, {}, 101, 0.95) / second == Approx(2).epsilon(1e-5));
  CHECK(end_to_end_quantile(sure, {}, 1, 0.5) / second == Approx(1).epsilon(1e-5));
  // Normal pace: 1.645 deviations of 1 ms a token; as much from prompts, which add as squares do.
  ResponseParts uneven = sure;
  uneven.step_deviation = 0.001;
  CHECK(end_to_end_quantile(uneven, {}, 101, 0.95) / second == Approx(2 + 0.1645).epsilon(1e-3));
  uneven.prompt_variance = 1e-4;
  CHECK(end_to_end_quantile(uneven, {}, 101, 0.95) / second ==
        Approx(2 + 0.1645 * std::sqrt(2)).epsilon(1e-3));
  // Outputs uniform from 51 to 151: the 95th percentile decodes 145 tokens.
  const LengthLaw uniform{.kind = LengthLaw::Kind::uniform, .low = 51.0 / 101, .high = 151.0 / 101};
  CHECK(end_to_end_quantile(sure, uniform, 101, 0.95) / second == Approx(2.45).epsilon(0.01));
  // Nine answers of 11 tokens, one of 1,011.
  LengthLaw samples{.kind = LengthLaw::Kind::empirical};
  samples.output_samples = {11, 11, 11, 1011, 11, 11, 11, 11, 11, 11};
  CHECK(end_to_end_quantile(sure, samples, 111, 0.95) / second == Approx(11.1).epsilon(1e-4));
  CHECK(end_to_end_quantile(sure, samples, 111, 0.85) / second == Approx(1.1).epsilon(1e-4));
}

TEST_CASE("time per token that can be said by hand", "[end_to_end]") {
  // 100 gaps at 10 ms, 0.2 s of prompts in the first of them.
  const std::vector<detail::TimePoint> hundred{{100}};
  ResponseParts sure{.tpot = 0.01, .first_gap = 0.2};
  CHECK(tpot_quantile(sure, hundred, 0.95).base() == Approx(0.012).epsilon(1e-4));
  sure.most_per_gap = 1e-3;  // chunks hold a gap up by 1 ms at most
  CHECK(tpot_quantile(sure, hundred, 0.95).base() == Approx(0.011).epsilon(1e-4));
  sure.first_gap = 0;
  sure.prompt_variance = 1e-4;  // 0.1 s over 100 gaps
  CHECK(tpot_quantile(sure, hundred, 0.95).base() == Approx(0.01 + 0.001645).epsilon(1e-3));
  sure.step_deviation = 0.001;
  CHECK(tpot_quantile(sure, hundred, 0.95).base() ==
        Approx(0.01 + 0.001645 * std::sqrt(2)).epsilon(1e-3));
}

TEST_CASE("quantiles of a sum against random draws", "[end_to_end]") {
  // TTFT exponential beyond 0.1 s, outputs lognormal, a decode place waited for by a third.
  ResponseParts r;
  r.least = 0.1;
  r.p50 = 0.1 + std::log(2);
  r.p95 = 0.1 + std::log(20);
  r.p99 = 0.1 + std::log(100);
  r.tpot = 0.02;
  r.place_probability = 1.0 / 3;
  r.place_wait = 2;
  for (const double cv : {0.0, 0.3, 1.0}) {
    Random random(3);
    std::vector<double> drawn;
    for (int i = 0; i < 200000; ++i) {
      const double outputs = std::max(1.0, 200 * sample_lognormal(random, cv));
      const double wait = random.uniform() < 1.0 / 3 ? 2 * sample_exponential(random) : 0;
      drawn.push_back(0.1 + sample_exponential(random) + wait + 0.02 * (outputs - 1));
    }
    std::sort(drawn.begin(), drawn.end());
    const LengthLaw law{.kind = LengthLaw::Kind::lognormal, .cv = cv};
    for (const double p : {0.5, 0.9, 0.95}) {
      CAPTURE(cv, p);
      CHECK(end_to_end_quantile(r, law, 200, p) / second ==
            Approx(drawn[static_cast<std::size_t>(p * 200000)]).epsilon(0.03));
    }
  }
}
