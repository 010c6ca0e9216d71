// Reduced models of different kinds: dense, windowed, mixture, latent with data-parallel attention,
// pipeline; on a device like an H100 and under an engine with every kind of cost.
#pragma once

#include <vector>

#include "fixtures.hpp"
#include "tokenroof/decide/replica.hpp"

namespace tokenroof::test {

inline Accelerator rounded_h100() {
  Accelerator device;
  const auto set = [&](DataType type, double rate) {
    device.dense_peak[static_cast<std::size_t>(type)] = rate * flop / second;
  };
  set(DataType::bf16, 989e12);
  set(DataType::fp16, 989e12);
  set(DataType::fp8, 1979e12);
  device.memory_bandwidth = 3.35 * terabyte / second;
  device.memory_nominal = device.memory_visible = 80 * gigabyte;
  device.scale_up = {.kind = "nvlink4",
                     .bandwidth = 450 * gigabyte / second,
                     .latency = {},
                     .domain_size = 8,
                     .switched = true};
  device.scale_out = Link{.kind = "infiniband",
                          .bandwidth = 50 * gigabyte / second,
                          .latency = 5 * microsecond,
                          .domain_size = 1,
                          .switched = false};
  device.multiprocessors = 132;
  device.power = 700 * watt;
  return device;
}

/// An engine with some of everything.
inline EngineConstants busy_engine() {
  EngineConstants engine;
  engine.step = 0.5 * millisecond;
  engine.per_sequence = 5 * microsecond;
  engine.per_prompt_step = 1 * millisecond;
  engine.per_pipeline_hop = 30 * microsecond;
  engine.per_layer = 5 * microsecond;
  engine.layer_passes = 8;
  engine.per_mixture_layer = 9 * microsecond;
  engine.per_latent_layer = 7 * microsecond;
  engine.per_prompt_layer = 20 * microsecond;
  engine.per_all_reduce = 2 * microsecond;
  engine.vector_attention = 0.02;
  engine.mixture_slowdown = 1.1;
  engine.communication_overlap = 0.1;
  return engine;
}

inline Scenario step_scenario(const Model& model, const Deployment& deployment,
                              const Precision& precision = uniform_precision(formats::bf16)) {
  Scenario scenario;
  scenario.model = model;
  scenario.accelerator = rounded_h100();
  scenario.deployment = deployment;
  scenario.precision = precision;
  scenario.engine.constants = busy_engine();
  scenario.workload.traffic = SingleStep{64 * request, TokensPerRequest::from_base(4096)};
  return scenario;
}

inline std::vector<Scenario> step_scenarios() {
  Model windowed = models::llama_31_8b();
  windowed.groups.push_back(windowed.groups.front());
  windowed.groups.back().attention.window = 1024;
  windowed.order.insert(windowed.order.end(), 32, 1);
  return {
      step_scenario(models::llama_31_70b(), {.tensor_parallel = 8}), step_scenario(windowed, {}),
      step_scenario(models::mixtral_8x7b(), {.tensor_parallel = 2, .expert_parallel = 2}),
      step_scenario(models::deepseek_v3(), {.expert_parallel = 16, .attention_data_parallel = 16},
                    uniform_precision(formats::fp8_block)),
      step_scenario(models::llama_31_405b(), {.tensor_parallel = 8, .pipeline_parallel = 2})};
}

inline std::vector<StepModel<double>> step_models() {
  std::vector<StepModel<double>> models;
  for (const Scenario& scenario : step_scenarios())
    models.push_back(reduce(scenario, Fidelity::calibrated).model);
  return models;
}

}  // namespace tokenroof::test
