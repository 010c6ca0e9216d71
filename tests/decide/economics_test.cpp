#include "tokenroof/decide/economics.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "textbook_fixtures.hpp"
#include "tokenroof/physics/crossover.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
TokensPerRequest tokens(double n) { return TokensPerRequest::from_base(n); }
TokensPerSecond rate_of(int devices, double batch) {
  return replica_rate(batch * request, step_70b(devices, batch, 4096).time());
}
double dollars_per_million(DollarsPerToken cost) { return cost / dollar_per_million_tokens; }
}  // namespace

TEST_CASE("unit cost", "[economics]") {
  CHECK(dollars_per_million(cost_per_token(2.0 * dollar_per_hour, 8, rate_of(8, 64), 0.6)) ==
        closed_form("s11.cpm.ex"));
}

TEST_CASE("DeepSeek's published day adds up", "[economics]") {
  const DollarsPerSecond node = 8 * 2.0 * dollar_per_hour;
  const Dollars cost = 226.75 * node * day;
  CHECK(cost / dollar == closed_form("s11.ds.cost"));
  // 342e9 cache hits, 266e9 misses, 168e9 output tokens at 0.14, 0.55, 2.19 $/M
  const Dollars income =
      (342e9 * 0.14 + 266e9 * 0.55 + 168e9 * 2.19) * token * dollar_per_million_tokens;
  CHECK(income / dollar == closed_form("s11.ds.income"));
  CHECK(profit_margin(562027 * dollar, cost) == closed_form("s11.ds.margin"));
  const TokensPerSecond input = 73.7e3 * token / second, output = 14.8e3 * token / second;
  const double prefill = 608e9 * token / (input * day), decode = 168e9 * token / (output * day);
  CHECK(prefill == closed_form("s11.ds.nodes.prefill"));
  CHECK(decode == closed_form("s11.ds.nodes.decode"));
  CHECK((prefill + decode) * node * day / dollar == closed_form("s11.ds.recon"));
  const DollarsPerToken in = cost_per_token(2.0 * dollar_per_hour, 8, input, 1.0);
  const DollarsPerToken out = cost_per_token(2.0 * dollar_per_hour, 8, output, 1.0);
  CHECK(dollars_per_million(in) == closed_form("s11.ds.in_cost"));
  CHECK(dollars_per_million(out) == closed_form("s11.ds.out_cost"));
  CHECK(out / in == closed_form("s11.ds.ratio"));
}

TEST_CASE("an output token against an input token", "[economics]") {
  const FlopsPerSecond peak = 8 * 0.5 * h100.bf16_roof().math;
  const BytesPerSecond memory = 8 * 0.8 * h100.bf16_roof().memory;
  const auto ratio = [&](double batch, double context) {
    return output_input_ratio(llama_70b.weights(2), llama_70b.linear_flops(),
                              llama_70b.body_flops(), llama_70b.kv(), batch * request,
                              tokens(context), peak, peak, memory);
  };
  CHECK(ratio(64, 4096) == closed_form("s11.ratio.L70.B64.S4096"));
  CHECK(ratio(64, 32768) == closed_form("s11.ratio.L70.B64.S32768"));
  CHECK(ratio(256, 4096) == closed_form("s11.ratio.L70.B256.S4096"));
}

TEST_CASE("what a long context should cost", "[economics]") {
  // A mean of 400 K tokens where S_c0 is 200 K, large batch, against a short context.
  CHECK(output_surcharge(0.0, 0.0, 2.0, StepOverlap::whole_step) ==
        closed_form("s11.surch.Sc200K.S400K"));
  CHECK(output_surcharge(0.0, 0.0, 2.0, StepOverlap::per_operator) ==
        closed_form("s11.surchsum.Sc200K.S400K"));
  // The +50 % step: the mean of the upper tier is 300 K.
  CHECK(output_surcharge(0.0, 0.5, 1.5, StepOverlap::whole_step) == 1.5);
  // A prompt whose attention equals its linear layers costs twice as much per token.
  CHECK(input_surcharge(llama_70b.body_flops(), llama_70b.attention_flops(), 104448 * token) ==
        Approx(2).epsilon(1e-12));
}

TEST_CASE("store or compute again", "[economics]") {
  const DollarsPerToken again = recompute_cost(
      llama_70b.body_flops(), 8 * 0.5 * h100.bf16_roof().math, 16.0 * dollar_per_hour);
  CHECK(dollars_per_million(again) == closed_form("s11.cache.recompute"));
  const DollarsPerByteSecond storage = 0.005 * dollar / (gigabyte * hour);
  const Seconds hold = break_even_hold(again, llama_70b.kv(), storage);
  CHECK(hold / hour == closed_form("s11.cache.hold.L70.h"));
  CHECK(storage_cost(llama_70b.kv(), hold, storage) / again == Approx(1).epsilon(1e-14));
}

TEST_CASE("elasticities are exact derivatives", "[economics]") {
  // ln cost over ln of bandwidth, link bandwidth, latency, peak; Llama 70B, B = 64, S = 4096.
  using S = Dual<4>;
  const TextbookModel<> m = textbook(llama_70b);
  const TextbookModel<S> model{m.weights_read, m.linear, m.attention, m.kv, 160, m.message};
  const auto machine =
      TextbookMachine<S>::of(8, With<FlopsPerSecond, S>::from_base(S::variable(h100.bf16, 3)),
                             With<BytesPerSecond, S>::from_base(S::variable(h100.bandwidth, 0)),
                             With<Seconds, S>::from_base(S::variable(6e-6, 2)),
                             With<BytesPerSecond, S>::from_base(S::variable(450e9, 1)));
  const With<Requests, S> batch = 64 * request;
  const auto step = textbook_step<S>(model, machine, batch, tokens(4096)).time();
  const S cost =
      cost_per_token<S>(2.0 * dollar_per_hour, 8, replica_rate(batch, step), S(0.6)).base();
  const auto elasticity = [&](std::size_t i, double x) {
    return cost.gradient[i] * x / cost.value;
  };
  CHECK(elasticity(0, h100.bandwidth) == closed_form("s11.elas.bw"));
  CHECK(elasticity(1, 450e9) == closed_form("s11.elas.net"));
  CHECK(elasticity(2, 6e-6) == closed_form("s11.elas.lat"));
  CHECK(elasticity(3, h100.bf16) == oracle("s11.elas.flops"));
  // Euler: the step is of degree 1 in its cost coefficients.
  CHECK(-elasticity(0, h100.bandwidth) - elasticity(1, 450e9) + elasticity(2, 6e-6) ==
        Approx(1).epsilon(1e-12));
}

TEST_CASE("properties P11.7 of elasticities", "[economics]") {
  property("P11.7 away from kinks a finite difference is the share of the time", [] {
    const double batch = of_any_size(1, 1000), context = of_any_size(1, 1e5);
    const auto time = [&](double bandwidth) {
      TextbookMachine<> machine = h100s(8);
      machine.weight_bandwidth *= bandwidth;
      machine.kv_bandwidth *= bandwidth;
      return textbook_step(textbook(llama_70b), machine, batch * request, tokens(context));
    };
    const TextbookStep<> step = time(1);
    const double h = 1e-5;
    RC_PRE(std::fabs(step.weight_reads / step.linear_math - 1) > 2 * h);
    RC_PRE(std::fabs(step.kv_reads / step.attention_math - 1) > 2 * h);
    Seconds memory{};
    if (step.weight_reads > step.linear_math) memory += step.weight_reads;
    if (step.kv_reads > step.attention_math) memory += step.kv_reads;
    const double slope =
        (std::log(time(1 + h).time() / second) - std::log(time(1 - h).time() / second)) /
        (std::log1p(h) - std::log1p(-h));
    RC_ASSERT(std::fabs(slope + memory / step.time()) < 1e-6);
  });
}

TEST_CASE("properties P11 of cost", "[economics]") {
  property("P11.1 proportional to price, and to 1 / utilisation and 1 / rate", [] {
    const DollarsPerSecond price = of_any_size(0.1, 100) * dollar_per_hour;
    const TokensPerSecond rate = of_any_size(1, 1e6) * token / second;
    const double u = between(0.01, 0.5), c = between(1, 2);
    const auto cost = cost_per_token(price, 8, rate, u);
    RC_ASSERT(near(cost_per_token(c * price, 8, rate, u) / cost, c));
    RC_ASSERT(near(cost / cost_per_token(price, 8, rate, c * u), c));
    RC_ASSERT(near(cost / cost_per_token(price, 8, c * rate, u), c));
    RC_ASSERT(near(cost * rate * u / (8 * price), 1));
  });
  property("P11.2 the classes of a request add up to its bill", [] {
    const auto time =
        request_time(between(0, 3) * second, between(0, 0.1) * second, whole(0, 5000) * token,
                     between(1e-3, 0.1) * second, whole(1, 512) * token);
    const auto cost = request_cost(time, 2.0 * dollar_per_hour, 8, 0.6);
    RC_ASSERT(cost.total() == cost.input + cost.cached + cost.output);
    RC_ASSERT(near(cost.total() / dollar, time.total() / hour * 2 * 8 / 0.6));
  });
  property("P11.3 the ratio falls with the batch, rises with context, and is the ideal one", [] {
    const double batch = of_any_size(1, 2000), context = of_any_size(1, 1e5), c = between(1, 3);
    const Roof<> roof = h100.bf16_roof();
    const auto ratio = [&](double b, double s) {
      return output_input_ratio(llama_70b.weights(2), llama_70b.linear_flops(),
                                llama_70b.linear_flops(), llama_70b.kv(), b * request, tokens(s),
                                roof.math, roof.math, roof.memory);
    };
    RC_ASSERT(at_most(ratio(batch * c, context), ratio(batch, context)));
    RC_ASSERT(at_most(ratio(batch, context), ratio(batch, context * c)));
    const double critical = critical_batch(ridge_intensity(roof), 2 * byte) / token;
    const TokensPerRequest crossover =
        kv_compute_crossover(llama_70b.linear_flops(), llama_70b.kv(), roof);
    RC_ASSERT(near(ratio(batch, context),
                   relative_output_cost(critical / batch, context / crossover.base())));
  });
}
