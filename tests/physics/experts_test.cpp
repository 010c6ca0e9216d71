#include "tokenroof/physics/experts.hpp"

#include <numeric>

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
double distinct_ds(double batch) { return distinct_experts(256, 8, batch * token); }
double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}
double weights_ds(double batch) {  // fp8: one byte per weight
  return mixture_weights_read(deepseek_always * byte,
                              deepseek_mixture_layers * deepseek_expert * byte,
                              distinct_ds(batch)) /
         byte;
}
}  // namespace

TEST_CASE("distinct experts of the oracle", "[experts]") {
  // Mixtral, 4 tokens, 2 of 8: 8 (1 - 0.75^4) = 5.46875
  CHECK(distinct_experts(8, 2, 4 * token) == closed_form("s4.distinct.Mixtral.B4"));
  CHECK(distinct_experts(128, 8, 16 * token) == closed_form("s4.distinct.Qwen3-30B.B16"));
  for (const int batch : {1, 8, 32, 64, 128, 256, 1024})
    CHECK(distinct_ds(batch) == closed_form("s4.distinct.DS.B" + std::to_string(batch)));
  CHECK(tokens_touching(256, 8, 0.9) / token == closed_form("s4.B90.DS"));
  CHECK(tokens_touching(8, 2, 0.9) / token == closed_form("s4.B90.Mixtral"));
}

TEST_CASE("weights that DeepSeek-V3 reads", "[experts]") {
  CHECK(deepseek_expert == closed_form("s4.expert_bytes.DS.fp8"));
  CHECK(deepseek_always == closed_form("s4.nonrouted.DS"));
  for (const int batch : {1, 8, 64, 256})
    CHECK(weights_ds(batch) == closed_form("s4.W.DS.B" + std::to_string(batch)));
  CHECK(weights_ds(64) / deepseek_resident == closed_form("s4.Wfrac.DS.B64"));
}

TEST_CASE("skewed routing of the oracle", "[experts]") {
  const auto half = inclusion_probabilities(zipf_popularity(256, 0.5), 8);
  CHECK(distinct_experts(half, 64 * token) == iterative("s4.zipf0.5.DS.B64"));
  CHECK(distinct_experts(half, 256 * token) == iterative("s4.zipf0.5.DS.B256"));
  CHECK(half.front() == iterative("s4.zipf0.5.pimax"));
  const auto one = inclusion_probabilities(zipf_popularity(256, 1), 8);
  CHECK(distinct_experts(one, 64 * token) == iterative("s4.zipf1.0.DS.B64"));
  CHECK(distinct_experts(one, 256 * token) == iterative("s4.zipf1.0.DS.B256"));
  CHECK(one.front() == iterative("s4.zipf1.0.pimax"));
}

TEST_CASE("the busiest of 32 ranks", "[experts]") {
  CHECK(rank_imbalance(256, 8, 32, 4096 * token) == closed_form("s4.ep_imb.DS.B4096.G32"));
  CHECK(rank_imbalance(256, 8, 1, 4096 * token) == 1);
  CHECK(rank_imbalance(8, 8, 4, 64 * token) == 1);
  CHECK(rank_imbalance(256, 8, 32, Tokens{}) == 1);
}

TEST_CASE("experts at their edges", "[experts]") {
  CHECK(distinct_experts(256, 8, Tokens{}) == 0);
  CHECK(distinct_experts(8, 8, token) == 8);
  CHECK(distinct_experts(256, 0, 100 * token) == 0);
  CHECK(tokens_touching(8, 8, 0.9) == Tokens{});
  const std::vector<double> uniform = inclusion_probabilities(zipf_popularity(256, 0), 8);
  CHECK(uniform.back() == Approx(8.0 / 256).epsilon(1e-13));
  CHECK(sum(inclusion_probabilities(zipf_popularity(8, 1), 8)) == 8);
  CHECK(sum(inclusion_probabilities(zipf_popularity(8, 1), 0)) == 0);
  CHECK(inclusion_probabilities({}, 2).empty());
  CHECK(zipf_popularity(0, 1).empty());
}

TEST_CASE("properties P4.1 and P4.2 of distinct experts", "[experts]") {
  property("0, k, then growing, concave, up to E; skew never touches more", [] {
    const int experts = whole(2, 300);
    const int k = whole(1, experts);
    const double b = between(0, 500), step = between(0, 50);
    const auto uniform = [&](double batch) { return distinct_experts(experts, k, batch * token); };
    RC_ASSERT(near(uniform(1), k));
    RC_ASSERT(at_most(uniform(b), uniform(b + step)));
    RC_ASSERT(at_most(uniform(b) + uniform(b + 2 * step), 2 * uniform(b + step) + 1e-9));
    RC_ASSERT(at_most(uniform(b), experts));
    const auto skewed = inclusion_probabilities(zipf_popularity(experts, between(0, 2)), k);
    RC_ASSERT(near(sum(skewed), k, 1e-11));
    RC_ASSERT(at_most(distinct_experts(skewed, (b + 1) * token), uniform(b + 1) + 1e-9));
  });
  property("W(1) is what one token multiplies, W(many) is what is resident", [] {
    RC_ASSERT(near(weights_ds(1), deepseek_v3.multiplied));
    RC_ASSERT(near(weights_ds(1e5), deepseek_resident));
  });
  property("imbalance is at least 1 and falls with the tokens", [] {
    const int ranks = whole(1, 64);
    const double b = between(1, 5000);
    const double imbalance = rank_imbalance(256, 8, ranks, b * token);
    RC_ASSERT(imbalance >= 1);
    RC_ASSERT(rank_imbalance(256, 8, ranks, 2 * b * token) <= imbalance);
  });
  property("differentiates", [] {
    const auto tokens = [](auto b) { return With<Tokens, decltype(b)>::from_base(b); };
    const double b = of_any_size(1, 200);
    const auto skewed = inclusion_probabilities(zipf_popularity(64, 1), 4);
    RC_ASSERT(differentiates([&](auto x) { return distinct_experts(256, 8, tokens(x)); }, b));
    RC_ASSERT(differentiates([&](auto x) { return distinct_experts(skewed, tokens(x)); }, b));
    RC_ASSERT(differentiates([&](auto x) { return rank_imbalance(256, 8, 32, tokens(x)); }, b));
  });
}
