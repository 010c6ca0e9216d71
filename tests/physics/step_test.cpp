#include "tokenroof/physics/step.hpp"

#include <numeric>

#include "fixtures.hpp"
#include "oracle.hpp"
#include "properties.hpp"
#include "step_fixtures.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof {
namespace {

using namespace test;
using namespace test::models;

Accelerator gpu(double peak_16bit, double bandwidth, double link) {
  Accelerator device;
  const auto set = [&](DataType type, double rate) {
    device.dense_peak[static_cast<std::size_t>(type)] = rate * flop / second;
  };
  set(DataType::bf16, peak_16bit);
  set(DataType::fp16, peak_16bit);
  set(DataType::fp8, 2 * peak_16bit);
  device.memory_bandwidth = bandwidth * byte / second;
  device.scale_up = {.kind = "nvlink4",
                     .bandwidth = link * byte / second,
                     .latency = {},
                     .domain_size = 8,
                     .switched = true};
  device.multiprocessors = 132;
  return device;
}
Accelerator h100() { return gpu(989e12, 3.35e12, 450e9); }

StepModel<double> reduce(const Model& model, const Accelerator& device, const Deployment& layout,
                         const Precision& precision = uniform_precision(formats::bf16)) {
  StepModel<double> step;
  step.operators = step_operators(model, device, precision, layout);
  step.machine = machine_of(device, layout);
  step.engine.step = 0.5 * millisecond;
  step.engine.per_layer = 5 * microsecond;
  step.engine.per_sequence = 5 * microsecond;
  return step;
}

struct Sums {
  double flops = 0, weights = 0, cache = 0;
};
Sums sums(const StepModel<double>& model, const StepLoad<double>& load) {
  Sums sum;
  const StepLoad<double> rank = rank_load(model.operators, load);
  for_each_operator(model.operators, [&](const auto& op) {
    const auto c = cost(model.operators, op, rank);
    sum.flops += c.flops;
    sum.weights += c.weight_bytes;
    sum.cache += c.cache_bytes;
  });
  return sum;
}

TEST_CASE("ideal: Llama-2-7B, fp16, batch 1, context 2048, A100-80 takes 7.007 ms") {
  // (2 x 6,607,077,376 + 2048 x 524,288) B / 2.039e12 B/s
  const auto model = reduce(llama_2_7b(), gpu(312e12, 2.039e12, 300e9), {});
  const Seconds time = ideal_step(model, decode_load(1.0, 2048.0)).total();
  CHECK(time / millisecond == Approx((2 * 6607077376.0 + 2048 * 524288.0) / 2.039e9));
  CHECK(time / millisecond == Approx(7.007).epsilon(1e-4));
}

TEST_CASE("ideal: Mixtral, bf16, TP8, batch 32, context 2048, H100 takes 3.80 ms") {
  const auto model = reduce(mixtral_8x7b(), h100(), {.tensor_parallel = 8});
  CHECK(ideal_step(model, decode_load(32.0, 2048.0)).total() / millisecond ==
        Approx(3.80).epsilon(2e-3));
}

TEST_CASE("operators add up to the model's own totals") {
  const Model models[] = {llama_31_70b(), mixtral_8x7b(), deepseek_v3(), qwen3_30b()};
  for (const Model& model : models) {
    const auto step = reduce(model, h100(), {});
    const auto count = parameter_count(model);
    const Sums one = sums(step, decode_load(1.0, 0.0));
    CHECK(one.flops == Approx(2.0 * static_cast<double>(count.matmul)).epsilon(1e-12));
    CHECK(one.weights == Approx(2.0 * static_cast<double>(count.matmul)).epsilon(1e-12));
    const Sums far = sums(step, decode_load(1.0, 4096.0));
    const KvGeometry cache = kv_geometry(model, formats::bf16);
    CHECK(far.cache == Approx(cache.bytes_at(4096 * token / request).base()).epsilon(1e-12));
  }
}

TEST_CASE("expert weights read follow the distinct experts") {
  const auto step = reduce(deepseek_v3(), h100(), {}, uniform_precision(formats::fp8));
  CHECK(sums(step, decode_load(64.0, 0.0)).weights == Approx(oracle("s4.W.DS.B64")).epsilon(1e-12));
}

TEST_CASE("no batch takes no time in the physics") {
  const auto step = reduce(llama_31_8b(), h100(), {});
  CHECK(ideal_step(step, StepLoad<double>{}).total() == Seconds{});
  CHECK(roofline_step(step, StepLoad<double>{}).total() == Seconds{});
}

TEST_CASE("tensor parallel cuts, but copies KV heads and latents") {
  const auto one = sums(reduce(llama_31_70b(), h100(), {}), decode_load(8.0, 1000.0));
  const auto eight =
      sums(reduce(llama_31_70b(), h100(), {.tensor_parallel = 8}), decode_load(8.0, 1000.0));
  const auto sixteen =
      sums(reduce(llama_31_70b(), h100(), {.tensor_parallel = 16}), decode_load(8.0, 1000.0));
  CHECK(eight.cache * 8 == Approx(one.cache));
  CHECK(sixteen.cache == Approx(eight.cache));
  const auto latent = sums(reduce(deepseek_v3(), h100(), {}), decode_load(8.0, 1000.0));
  const auto copied =
      sums(reduce(deepseek_v3(), h100(), {.tensor_parallel = 8}), decode_load(8.0, 1000.0));
  CHECK(copied.cache == Approx(latent.cache));
}

TEST_CASE("pipeline stages do not divide latency") {
  const auto flat = reduce(llama_31_70b(), h100(), {.tensor_parallel = 4});
  const auto staged =
      reduce(llama_31_70b(), h100(), {.tensor_parallel = 4, .pipeline_parallel = 2});
  CHECK(ideal_step(staged, decode_load(1.0, 1000.0)).total() >=
        0.999 * ideal_step(flat, decode_load(1.0, 1000.0)).total());
}

TEST_CASE("ideal <= roofline <= calibrated") {
  const Model models[] = {llama_31_8b(), llama_31_70b(), mixtral_8x7b(), deepseek_v3(),
                          qwen3_30b()};
  CHECK(rc::check("for any load, layout and precision", [&] {
    const Model& model = models[whole(0, 4)];
    Deployment layout{.tensor_parallel = 1 << whole(0, 4), .pipeline_parallel = whole(1, 3)};
    layout.attention_data_parallel = 1 << whole(0, 3);
    const int ranks = layout.tensor_parallel * layout.attention_data_parallel;
    layout.expert_parallel = whole(0, 1) ? std::min(8, ranks) : 1;
    const Format stored[] = {formats::bf16, formats::fp8, formats::fp8_block, formats::int4};
    const Precision precision = uniform_precision(stored[whole(0, 3)]);
    auto step = reduce(
        model, gpu(of_any_size(1e13, 5e15), of_any_size(2e11, 2e13), of_any_size(1e10, 2e12)),
        layout, precision);
    step.engine.communication_overlap = between(0, 0.9);
    step.async_scheduling = whole(0, 1) == 1;
    StepLoad<double> load =
        decode_load(whole(0, 1) ? of_any_size(1, 2000) : 0.0, of_any_size(1, 200000));
    load.query_tokens = whole(1, 5);
    if (whole(0, 1)) {
      load.prompts = whole(1, 20);
      load.prompt_tokens = whole(1, 20000);
      load.prefix_tokens = whole(0, 20000);
    }
    const double ideal = ideal_step(step, load).total().base();
    const double roofline = roofline_step(step, load).total().base();
    const double calibrated = calibrated_step(step, load).total().base();
    RC_ASSERT(at_most(ideal, roofline));
    RC_ASSERT(at_most(roofline, calibrated));
  }));
}

TEST_CASE("a prompt on one of many attention ranks costs the experts no more") {
  const auto one = reduce(deepseek_v3(), h100(), {});
  Deployment wide;
  wide.attention_data_parallel = wide.expert_parallel = 16;
  const auto many = reduce(deepseek_v3(), h100(), wide);
  const auto flops = [](const StepModel<double>& model) {
    const auto rank = rank_load(model.operators, prefill_load(1.0, 4096.0));
    double sum = 0;
    for (const Experts& op : model.operators.experts)
      sum += cost(model.operators, op, rank).flops * op.expert_parallel;
    return sum;
  };
  CHECK(flops(many) == Approx(flops(one)));
}

TEST_CASE("more bandwidth, more peak and faster links never slow a step") {
  CHECK(rc::check([] {
    const double peak = of_any_size(1e14, 2e15), memory = of_any_size(1e12, 1e13),
                 link = of_any_size(5e10, 1e12);
    const Deployment layout{.tensor_parallel = 8};
    const auto load = decode_load(of_any_size(1, 512), of_any_size(1, 100000));
    const auto at = [&](double p, double m, double l, Fidelity fidelity) {
      auto step = reduce(llama_31_70b(), gpu(peak, memory, link), layout);
      for (auto& rate : step.machine.peak) rate *= p;
      step.machine.memory_bandwidth *= m;
      step.machine.link_bandwidth *= l;
      return step_time(step, load, fidelity).total().base();
    };
    for (const Fidelity f : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
      const double base = at(1, 1, 1, f);
      RC_ASSERT(at_most(at(2, 1, 1, f), base));
      RC_ASSERT(at_most(at(1, 2, 1, f), base));
      RC_ASSERT(at_most(at(1, 1, 2, f), base));
    }
  }));
}

TEST_CASE("steps grow with batch and context") {
  CHECK(rc::check([] {
    const auto step = reduce(deepseek_v3(), h100(), {.tensor_parallel = 8});
    const double batch = of_any_size(1, 1000), context = of_any_size(1, 50000);
    for (const Fidelity f : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
      const auto at = [&](double b, double c) {
        return step_time(step, decode_load(b, c), f).total().base();
      };
      RC_ASSERT(at_most(at(batch, context), at(batch * 1.1, context)));
      RC_ASSERT(at_most(at(batch, context), at(batch, context * 1.1)));
    }
  }));
}

TEST_CASE("dual numbers give the value and the slope of double") {
  const auto plain = reduce(llama_31_70b(), h100(), {.tensor_parallel = 8});
  StepModel<Dual<1>> dual{plain.operators, widen<Dual<1>>(plain.machine), plain.kernels,
                          plain.engine};
  const double bandwidth = plain.machine.memory_bandwidth;
  dual.machine.memory_bandwidth = Dual<1>::variable(bandwidth, 0);
  const auto load = decode_load(Dual<1>(64), Dual<1>(4096));
  for (const Fidelity f : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
    const Dual<1> time = step_time(dual, load, f).total().base();
    const auto at = [&](double factor) {
      auto moved = plain;
      moved.machine.memory_bandwidth = bandwidth * factor;
      return step_time(moved, decode_load(64.0, 4096.0), f).total().base();
    };
    CHECK(time.value == Approx(at(1)).epsilon(1e-14));
    const double slope = (at(1 + 1e-6) - at(1 - 1e-6)) / (2e-6 * bandwidth);
    CHECK(time.gradient[0] == Approx(slope).epsilon(1e-6));
  }
}

TEST_CASE("ranks of a tensor group may share a sequence's cache") {
  const auto with = [](int context_parallel) {
    return reduce(
        deepseek_v3(), h100(),
        {.tensor_parallel = 8, .expert_parallel = 8, .context_parallel = context_parallel});
  };
  const StepLoad<double> load = decode_load(16.0, 100000.0);
  const Sums alone = sums(with(1), load), shared = sums(with(8), load);
  CHECK(shared.cache == Approx(alone.cache / 8));  // the latent is no longer on every rank whole
  CHECK(shared.flops == Approx(alone.flops));
  CHECK(shared.weights == alone.weights);
  CHECK(calibrated_step(with(8), load).total() < calibrated_step(with(1), load).total());
  // Queries, then outputs and their maxima and sums, cross the group in every layer.
  double combined = 0;
  for (const Message& op : with(8).operators.messages)
    if (op.kind == OperatorKind::context_combine && op.bytes_per_row == 128 * (512 + 2) * 2)
      combined += cost(with(8).operators, op, decode_load(1.0, 1.0)).message_bytes;
  CHECK(combined * 7 / 8 == Approx(context_combine_bytes(token, 61, 128, 512, 2 * byte, 8) / byte));
  // Grouped heads: where each rank has its own, cutting tokens instead of heads moves nothing.
  const auto grouped = [](int context_parallel) {
    return reduce(llama_31_70b(), h100(),
                  {.tensor_parallel = 8, .context_parallel = context_parallel});
  };
  CHECK(sums(grouped(8), load).cache == Approx(sums(grouped(1), load).cache));
  CHECK(sums(grouped(4), prefill_load(1.0, 4096.0)).flops ==
        Approx(sums(grouped(1), prefill_load(1.0, 4096.0)).flops));
}

TEST_CASE("rows that are dispatched are permuted only where they arrive") {
  const auto experts = [](int ranks) {
    return reduce(deepseek_v3(), h100(),
                  {.expert_parallel = ranks, .attention_data_parallel = ranks})
        .operators.experts.front();
  };
  CHECK(experts(8).reach == 1);                  // eight experts a token: every rank is asked
  CHECK(experts(32).reach == Approx(9.0 / 32));  // the own rank and eight others
  const EngineConstants engine;
  const KernelConstants kernels;
  const Machine<double> machine = machine_of(h100(), {});
  const KernelContext<double> context{kernels, engine, machine};
  Experts everywhere = experts(32);
  everywhere.reach = 1;
  const auto time = [&](const Experts& op) {
    return kernel::experts(context, op, 4096.0, 1024.0, 8.0).busy;
  };
  CHECK(time(experts(32)) < 0.5 * time(everywhere));
}

TEST_CASE("mx weights are unpacked at the rate of the multiply on Hopper") {
  const auto busy = [](std::string_view architecture, const Format& format) {
    Accelerator device = h100();
    device.architecture = architecture;
    Precision precision = uniform_precision(formats::bf16);
    precision.set(Part::routed_experts, format);
    const StepModel<double> model = reduce(mixtral_8x7b(), device, {}, precision);
    return calibrated_step(model, prefill_load(1.0, 8192.0)).compute;
  };
  CHECK(busy("hopper", formats::mxfp4) < 0.8 * busy("ampere", formats::mxfp4));
  CHECK(busy("hopper", formats::int4) == Approx(busy("ampere", formats::int4)));
}

TEST_CASE("four-bit experts take their small kernels along") {
  StepModel<double> model = step_models()[2];
  const auto latency = [&] { return calibrated_step(model, decode_load(1.0, 1.0)).latency; };
  const double wide = latency();
  model.engine.four_bit_launches = 0.5;
  CHECK(latency() == wide);
  for (Experts& op : model.operators.experts) op.multiply = DataType::fp4;
  model.machine.peak[static_cast<std::size_t>(DataType::fp4)] = 4e15;
  const double half = latency();
  model.engine.four_bit_launches = 1;
  const double saved = 0.5 * 32 * model.engine.per_mixture_layer.base() *
                       model.machine.latency_factor * model.engine.mixture_slowdown;
  CHECK(latency() - half == Approx(saved));
}

TEST_CASE("a host that schedules ahead shows only where it takes longer than the device") {
  StepModel<double> model = step_models().front();
  const auto step = [&] { return calibrated_step(model, decode_load(64.0, 1000.0)).total(); };
  model.engine.step = model.engine.per_sequence = Seconds{};
  const Seconds device = step();
  model.engine.per_sequence = 10 * microsecond;
  CHECK(step() / device == Approx(1 + 64 * 10e-6 / device.base()));
  model.async_scheduling = true;
  CHECK(step() / device == Approx(1));
  model.engine.per_sequence = 2 * device / 64;
  CHECK(step() / device == Approx(2));
}

TEST_CASE("in a mesh two devices share one of its links") {
  Accelerator mesh = h100();
  mesh.scale_up.switched = false;
  const auto transfer = [&](const Accelerator& device, double ranks) {
    Message op{.kind = OperatorKind::all_reduce, .layers = 1, .ranks = ranks, .bytes_per_row = 1e9};
    return message_time(KernelConstants{}, machine_of(device, {}), op, decode_load(1.0, 1.0))
        .transfer;
  };
  CHECK(transfer(mesh, 2) == Approx(7 * transfer(h100(), 2)));
  CHECK(transfer(mesh, 8) == Approx(transfer(h100(), 8)));
}

}  // namespace
}  // namespace tokenroof
