#include "tokenroof/analyze/sensitivity.hpp"

#include "properties.hpp"
#include "step_fixtures.hpp"

namespace tokenroof {
namespace {

using namespace test;

constexpr Result results[] = {Result::decode_step, Result::prefill_time, Result::output_cost};
constexpr Fidelity fidelities[] = {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated};

double of(const std::array<Elasticity, driver_count>& all, Driver driver) {
  return all[static_cast<std::size_t>(driver)].value;
}

/// The replica with every time constant multiplied by `g`, without any use of Euler's rule.
Replica with_fixed_times(Replica replica, double g) {
  KernelConstants& k = replica.model.kernels;
  for (double* time :
       {&k.matmul_fixed_s, &k.matmul_loop_s, &k.quantize_element_s, &k.attention_fixed_s,
        &k.attention_fixed_8bit_s, &k.attention_item_s, &k.attention_context_s,
        &k.attention_write_s, &k.experts_fixed_s, &k.experts_each_s, &k.experts_unpack_spread_s,
        &k.exchange_s, &k.ring_step_s})
    *time *= g;
  k.unpack_flops /= g;
  EngineConstants& e = replica.model.engine;
  for (Seconds* time :
       {&e.step, &e.per_sequence, &e.per_prompt_step, &e.per_pipeline_hop, &e.per_layer,
        &e.per_mixture_layer, &e.per_latent_layer, &e.per_recurrent_layer, &e.per_weight_only_layer,
        &e.per_prompt_layer, &e.per_all_reduce, &e.per_bus_all_reduce, &e.per_eager_layer})
    *time *= g;
  replica.model.machine.link_latency *= g;  // negative: the constants above are used
  replica.model.machine.network_latency *= g;
  return replica;
}

TEST_CASE(
    "elasticities of times add up by Euler's rule; those of cost to price and use are 1, -1") {
  for (const Scenario& scenario : step_scenarios()) {
    for (const Fidelity fidelity : fidelities) {
      const Replica replica = reduce(scenario, fidelity);
      for (const Result result : results) {
        const auto all = elasticities(replica, {64, 4096, 1000, 200}, result);
        const double sum = -of(all, Driver::memory_bandwidth) - of(all, Driver::peak_compute) -
                           of(all, Driver::link_bandwidth) + of(all, Driver::fixed_times);
        CHECK(sum == Approx(1).epsilon(1e-12));
        const bool cost = result == Result::output_cost;
        CHECK(of(all, Driver::price) == Approx(cost ? 1 : 0));
        CHECK(of(all, Driver::utilization) == Approx(cost ? -1 : 0));
      }
    }
  }
}

TEST_CASE("fixed times are the time constants: scaling those gives the same elasticity") {
  for (const Scenario& scenario : step_scenarios()) {
    const Replica replica = reduce(scenario, Fidelity::calibrated);
    const OperatingPoint at{64, 4096, 1000, 0};
    Factors<double> as_is;
    as_is.fill(1);
    for (const Result result : {Result::decode_step, Result::prefill_time}) {
      const double h = 1e-5;
      const double higher = scaled_result(with_fixed_times(replica, 1 + h), at, result, as_is);
      const double lower = scaled_result(with_fixed_times(replica, 1 - h), at, result, as_is);
      const double slope = (higher - lower) / (2 * h * scaled_result(replica, at, result, as_is));
      CHECK(of(elasticities(replica, at, result), Driver::fixed_times) ==
            Approx(slope).epsilon(1e-7));
    }
  }
}

TEST_CASE("elasticities are slopes, and their value does not depend on the scalar") {
  const std::vector<Scenario> scenarios = step_scenarios();
  property("central differences", [&] {
    const Scenario& scenario = scenarios[static_cast<std::size_t>(whole(0, 4))];
    const Replica replica = reduce(scenario, fidelities[whole(0, 2)]);
    const OperatingPoint at{of_any_size(20, 500), of_any_size(10, 1e5), of_any_size(10, 1e5), 0};
    const Result result = results[whole(0, 2)];
    const auto all = elasticities(replica, at, result);
    Factors<double> factors;
    factors.fill(1);
    const double now = scaled_result(replica, at, result, factors);
    const double h = 1e-6;
    for (std::size_t i = 0; i < driver_count; ++i) {
      factors[i] = 1 + h;
      const double higher = scaled_result(replica, at, result, factors);
      factors[i] = 1 - h;
      const double lower = scaled_result(replica, at, result, factors);
      factors[i] = 1;
      const double slope = (higher - lower) / (2 * h * now);
      // Across a kink the difference lies between the sides.
      const double low = std::min({all[i].below, all[i].above, all[i].value});
      const double high = std::max({all[i].below, all[i].above, all[i].value});
      RC_ASSERT(slope > low - 2e-5);
      RC_ASSERT(slope < high + 2e-5);
    }
  });
}

TEST_CASE("host time that hides behind the device stays hidden") {
  Scenario scenario = step_scenario(models::llama_31_8b(), {});
  scenario.engine.async_scheduling = true;
  scenario.engine.constants.step = 1 * millisecond;
  const Replica replica = reduce(scenario, Fidelity::calibrated);
  Factors<double> as_is;
  as_is.fill(1);
  CHECK(scaled_result(replica, {16, 8192, 1, 0}, Result::decode_step, as_is) ==
        Approx(replica.decode(16, 8192).total().base()).epsilon(1e-12));
}

TEST_CASE("a memory-bound ideal step: bandwidth alone, and half its bytes are cache") {
  const Replica replica = reduce(step_scenario(models::llama_31_8b(), {}), Fidelity::ideal);
  const StepTime<double> parts = replica.decode(16, 8192);
  const auto all = elasticities(replica, {16, 8192, 1, 0}, Result::decode_step);
  CHECK(of(all, Driver::memory_bandwidth) == Approx(-1));
  CHECK(of(all, Driver::peak_compute) == 0);
  CHECK(of(all, Driver::fixed_times) == Approx(0).margin(1e-12));
  const double cache = parts.cache / parts.total().base();
  CHECK(of(all, Driver::context) == Approx(cache));
  CHECK(of(all, Driver::batch) == Approx(cache));
  const auto cost = elasticities(replica, {16, 8192, 1, 0}, Result::output_cost);
  CHECK(of(cost, Driver::batch) == Approx(cache - 1));
}

TEST_CASE("at the ridge the sides differ: memory below, compute above") {
  Scenario scenario = step_scenario(models::llama_31_8b(), {});
  Replica replica = reduce(scenario, Fidelity::ideal);
  // The peak at which the step at this batch balances exactly.
  StepModel<double>& model = replica.model;
  const double memory = replica.decode(64, 0).total().base();
  model.machine.memory_bandwidth *= 1e9;
  const double compute = replica.decode(64, 0).total().base();
  model.machine.memory_bandwidth /= 1e9;
  for (double& peak : model.machine.peak) peak *= compute / memory;
  const auto all = elasticities(replica, {64, 0, 1, 0}, Result::decode_step);
  const Elasticity& batch = all[static_cast<std::size_t>(Driver::batch)];
  CHECK(batch.kink());
  CHECK(batch.below == Approx(0).margin(1e-9));
  CHECK(batch.above == Approx(1));
  const Elasticity& peak = all[static_cast<std::size_t>(Driver::peak_compute)];
  CHECK(peak.below == Approx(-1));
  CHECK(peak.above == Approx(0).margin(1e-9));
  CHECK_FALSE(all[static_cast<std::size_t>(Driver::price)].kink());
}

TEST_CASE("a tornado table is sorted and its ends are what-ifs") {
  const Replica replica = reduce(step_scenarios().front(), Fidelity::calibrated);
  const OperatingPoint at{64, 4096, 1000, 0};
  const auto bars = tornado(replica, at, Result::output_cost, 2);
  REQUIRE(bars.size() == driver_count);
  for (std::size_t i = 1; i < bars.size(); ++i) CHECK(bars[i - 1].swing() >= bars[i].swing());
  for (const TornadoBar& bar : bars) {
    if (bar.driver == Driver::price) {
      CHECK(bar.lower == Approx(0.5));
      CHECK(bar.higher == Approx(2));
    }
    if (bar.driver == Driver::memory_bandwidth) {
      Replica faster = replica;
      faster.model.machine.memory_bandwidth *= 2;
      CHECK(bar.higher ==
            Approx(faster.decode(64, 4096).total() / replica.decode(64, 4096).total()));
      CHECK(bar.lower > 1);
    }
  }
}

}  // namespace
}  // namespace tokenroof
