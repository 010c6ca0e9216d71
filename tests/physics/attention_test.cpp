#include "tokenroof/physics/attention.hpp"

#include <vector>

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
double pairs(double fresh, double cached = 0) {
  return query_key_pairs(fresh * token, cached * token) / token;
}
double windowed(double fresh, double cached, double window) {
  return windowed_pairs(fresh * token, cached * token, window * token) / token;
}
}  // namespace

TEST_CASE("pairs of the oracle", "[attention]") {
  CHECK(pairs(8192) == oracle("s5.pairs.N8192"));
  CHECK(pairs(1024, 7168) == oracle("s5.pairs.n1024.C7168"));
  CHECK(windowed(8192, 0, 4096) == oracle("s5.swa.pairs.N8192.w4096"));
  CHECK(chunked_cache_reads(8192 * token, 2048 * token) / token ==
        oracle("s5.chunk.kvread.N8192.c2048"));
  CHECK(attention_equals_linear_prompt(llama_70b.body_flops(), llama_70b.attention_flops()) /
            token ==
        closed_form("s5.N_attn_eq_lin.L70"));
}

TEST_CASE("bytes of one head, naive and tiled", "[attention]") {
  const AttentionHead head{4096, 128};
  CHECK(naive_attention(head).traffic / byte == oracle("s5.io.naive.N4096.d128"));
  CHECK(tiled_attention(head, 128).traffic / byte == oracle("s5.io.fa2.N4096.d128.Br128"));
  CHECK(ideal_attention(head).traffic / byte == oracle("s5.io.ideal.N4096.d128"));
  CHECK(naive_attention(head).traffic / tiled_attention(head, 128).traffic ==
        oracle("s5.io.ratio.fa2"));
  CHECK(intensity(naive_attention(head)).base() == closed_form("s5.ai.naive"));
  CHECK(intensity(tiled_attention(head, 128)).base() == closed_form("s5.ai.fa2"));
  CHECK(intensity(ideal_attention(head)).base() == closed_form("s5.ai.ideal"));
  CHECK(intensity(tiled_attention({131072, 128}, 128)).base() == closed_form("s5.ai.fa2.N131072"));
}

TEST_CASE("what no cache would cost", "[attention]") {
  // Prompt 2, output 3: steps over 2, 3, 4 tokens: 9 tokens; 3 + 6 + 10 = 19 pairs.
  const GenerationWork without = generation_without_cache(2 * token, 3 * token);
  CHECK(without.tokens == 9 * token);
  CHECK(without.pairs == 19 * token);
  const GenerationWork with = generation_with_cache(2 * token, 3 * token);
  CHECK(with.tokens == 4 * token);
  CHECK(with.pairs == 10 * token);
  // n^2 and n^3: twice the output is 4 and 8 times the work, not its square.
  const auto ratio = [](double n) {
    return std::pair{generation_without_cache(token, 2 * n * token).tokens /
                         generation_without_cache(token, n * token).tokens,
                     generation_without_cache(token, 2 * n * token).pairs /
                         generation_without_cache(token, n * token).pairs};
  };
  CHECK(ratio(1e6).first == Approx(4).epsilon(1e-5));
  CHECK(ratio(1e6).second == Approx(8).epsilon(1e-5));
  CHECK(generation_without_cache(5 * token, Tokens{}).tokens == Tokens{});
  CHECK(generation_with_cache(5 * token, Tokens{}).pairs == Tokens{});
}

TEST_CASE("attention at its edges", "[attention]") {
  CHECK(pairs(0, 100) == 0);
  CHECK(pairs(1, 0) == 1);
  CHECK(bidirectional_pairs(100 * token) == 10000 * token);
  CHECK(chunked_cache_reads(5000 * token, 2048 * token) == (2048 + 4096 + 5000) * token);
  CHECK(chunked_cache_reads(5000 * token, 8192 * token) == 5000 * token);
  CHECK(intensity(naive_attention({})).base() == 0);
  const AttentionHead causal{4096, 128, 2 * byte, true};
  CHECK(head_flops(causal) == 0.5 * head_flops({4096, 128}));
}

TEST_CASE("properties P5 of attention", "[attention]") {
  property("P5.1, P5.2: pairs add up over any chunks", [] {
    double done = 0, sum = 0, windowed_sum = 0;
    const double window = whole(1, 500);
    for (int chunk = whole(1, 8); chunk > 0; --chunk) {
      const double n = whole(0, 300);
      sum += pairs(n, done);
      windowed_sum += windowed(n, done, window);
      done += n;
    }
    RC_ASSERT(sum == pairs(done));
    RC_ASSERT(windowed_sum == windowed(done, 0, window));
  });
  property("a window counts what a loop counts", [] {
    const int n = whole(0, 200), cached = whole(0, 200), window = whole(1, 300);
    double loop = 0;
    for (int i = 1; i <= n; ++i) loop += std::min(cached + i, window);
    RC_ASSERT(windowed(n, cached, window) == loop);
    // P5.6
    RC_ASSERT(windowed(n, cached, n + cached) == pairs(n, cached));
    RC_ASSERT(windowed(n, cached, 0) == pairs(n, cached));
  });
  property("P5.7 naive over tiled bytes tends to 2 block / head size", [] {
    const double d = 32 * whole(1, 8), block = 64 * whole(1, 4);
    const AttentionHead head{1e7, d};
    RC_ASSERT(near(naive_attention(head).traffic / tiled_attention(head, block).traffic,
                   2 * block / d, 1e-3));
    const AttentionHead equal{128.0 * whole(1, 1000), 128};
    RC_ASSERT(near(naive_attention(equal).traffic / tiled_attention(equal, 128).traffic, 2));
  });
  property("generation counts what a loop counts", [] {
    const int prompt = whole(1, 100), output = whole(0, 100);
    double tokens = 0, all = 0;
    for (int step = 0; step < output; ++step) {
      tokens += prompt + step;
      all += pairs(prompt + step);
    }
    const GenerationWork work = generation_without_cache(prompt * token, output * token);
    RC_ASSERT(work.tokens / token == tokens);
    RC_ASSERT(near(work.pairs / token, all));
  });
  property("differentiates", [] {
    RC_ASSERT(differentiates(
        [](auto n) {
          using S = decltype(n);
          return windowed_pairs(With<Tokens, S>::from_base(n), With<Tokens, S>(100 * token),
                                500 * token)
              .base();
        },
        std::floor(of_any_size(2, 350)) + 0.5));
  });
}
