#include "tokenroof/physics/local_runtime.hpp"

#include "fixtures.hpp"
#include "properties.hpp"
#include "tokenroof/physics/step.hpp"

namespace tokenroof {
namespace {

using namespace test;
using namespace test::models;

/// A device by its 16-bit peak with FP32 accumulation, its 8-bit integer and its vector peak.
Accelerator device(double wide, double integer, double vector, double bandwidth) {
  Accelerator one;
  const auto set = [&](DataType type, double rate) {
    one.dense_peak[static_cast<std::size_t>(type)] = rate * flop / second;
  };
  set(DataType::bf16, wide);
  set(DataType::fp16, wide);
  set(DataType::int8, integer);
  set(DataType::fp32, vector);
  one.memory_bandwidth = bandwidth * byte / second;
  one.scale_up = {"pcie4", 31.5e9 * byte / second, {}, 1, false};
  return one;
}
Accelerator rtx_4090() { return device(165.2e12, 660.6e12, 0, 1.008e12); }

/// A runtime with round constants.
Engine runtime() {
  Engine engine;
  LocalRuntimeConstants& c = engine.local_runtime.emplace();
  c.weight_stream = 0.9;
  c.tensor_compute = 0.6;
  c.vector_compute = 0.5;
  c.unpack_flops = 20;
  c.step = 400 * microsecond;
  c.per_layer = 60 * microsecond;
  c.per_quantized_layer = 10 * microsecond;
  c.per_split_layer = 15 * microsecond;
  c.per_prompt_layer = 50 * microsecond;
  c.per_device_hop = 50 * microsecond;
  c.cache_passes = 2;
  c.score_bytes = 20;
  c.elementwise_passes = 0.7;
  c.launches_per_layer = 50;
  c.launches_per_quantized_layer = 10;
  return engine;
}

StepModel<double> reduce(const Model& model, const Accelerator& on, const Format& weights,
                         int devices = 1, const Engine& engine = runtime()) {
  Precision precision = uniform_precision(formats::fp16);
  precision.activations = formats::fp16;
  precision.weights.fill(weights);
  Deployment layout;
  layout.pipeline_parallel = devices;
  return step_model(model, on, engine, precision, layout);
}

/// Time of everything but small kernels and host.
double operators_of(const StepModel<double>& model, const StepLoad<double>& load) {
  double sum = 0;
  visit_calibrated(model, load, [&](OperatorKind kind, const auto&, const StepTime<double>& time) {
    if (kind != OperatorKind::small_kernels && kind != OperatorKind::host)
      sum += time.total().base();
  });
  return sum;
}

}  // namespace

TEST_CASE("decode streams the weights, and the cache as often as the runtime says") {
  const StepModel<double> model = reduce(llama_2_7b(), rtx_4090(), formats::fp16);
  // 6.607e9 weights that multiply, 2 B each, at 0.9 x 1.008 TB/s: 14.566 ms. Compute adds 2e-5 of
  // it: 2 FLOP x 6.607e9 / (0.6 x 330.3e12) = 0.067 ms beside 14.566.
  CHECK(operators_of(model, decode_load(1.0, 0.0)) == Approx(14.566e-3).epsilon(1e-3));
  // 2 passes over 1000 tokens x 524288 B: 1.156 ms.
  const double cache =
      operators_of(model, decode_load(1.0, 1000.0)) - operators_of(model, decode_load(1.0, 0.0));
  CHECK(cache == Approx(2 * 1000 * 524288 / (0.9 * 1.008e12)).epsilon(0.01));
  // Launches 32 x 60 us and 0.4 ms on the host; elementwise traffic is 0.7 x (100 x 4096 +
  // 44 x 11008) x 32 B = 20 MB, 22 us.
  CHECK(calibrated_step(model, decode_load(1.0, 0.0)).latency ==
        Approx(32 * 60e-6 + 400e-6).epsilon(1e-12));
}

TEST_CASE("the ceiling joins smoothly") {
  Engine slow = runtime();
  slow.local_runtime->stream_ceiling = 0.9 * 1.008e12;  // as high as the bandwidth's share
  const double free =
      operators_of(reduce(llama_2_7b(), rtx_4090(), formats::fp16), decode_load(1.0, 0.0));
  const double capped =
      operators_of(reduce(llama_2_7b(), rtx_4090(), formats::fp16, 1, slow), decode_load(1.0, 0.0));
  CHECK(capped / free == Approx(std::pow(2.0, 0.25)).epsilon(1e-3));
}

TEST_CASE("FP16 sums in FP16 run at half the integer rate") {
  const StepModel<double> geforce = reduce(llama_2_7b(), rtx_4090(), formats::fp16);
  CHECK(geforce.machine.peak_of(DataType::fp16) == Approx(330.3e12));
  CHECK(geforce.machine.peak_of(DataType::bf16) == Approx(165.2e12));
  CHECK(geforce.machine.tensor_units);
  const StepModel<double> apple =
      reduce(llama_2_7b(), device(14e12, 0, 14e12, 4e11), formats::fp16);
  CHECK(apple.machine.peak_of(DataType::fp16) == Approx(14e12));
  CHECK_FALSE(apple.machine.tensor_units);
}

TEST_CASE("quantised weights: unpacked on vector units, expanded for tensor units") {
  const Accelerator apple = device(14e12, 0, 14e12, 4e11);
  const StepLoad<double> one_token = decode_load(1.0, 0.0);
  const double plain = operators_of(reduce(llama_2_7b(), apple, formats::q4_k_m), one_token);
  Engine free = runtime();
  free.local_runtime->unpack_flops = 0;
  CHECK(plain > operators_of(reduce(llama_2_7b(), apple, formats::q4_k_m, 1, free), one_token));
  // On tensor units a short prompt is slower than in f16: expanding costs traffic.
  const StepLoad<double> prompt = prefill_load(1.0, 64.0);
  CHECK(operators_of(reduce(llama_2_7b(), rtx_4090(), formats::q4_k_m), prompt) >
        operators_of(reduce(llama_2_7b(), rtx_4090(), formats::fp16), prompt));
}

TEST_CASE("prompts run in micro-batches") {
  const StepModel<double> model = reduce(llama_2_7b(), rtx_4090(), formats::fp16);
  const auto time = [&](double tokens) {
    return calibrated_step(model, prefill_load(1.0, tokens)).total().base();
  };
  CHECK(time(1024) > 2 * time(512));  // the second one sees the first one's keys
  CHECK(time(1024) < 2.3 * time(512));
  // Two prompts of 256 fill one micro-batch; four of 512 are four.
  const auto prompts = [&](double n, double tokens) {
    return calibrated_step(model, prefill_load(n, tokens)).total().base();
  };
  CHECK(prompts(2, 256) < 1.02 * time(512));
  CHECK(prompts(4, 512) == Approx(4 * time(512)).epsilon(0.02));
}

TEST_CASE("devices of a split model overlap as far as their queues reach") {
  const auto speedup = [&](const Model& model, const Format& weights, int devices, double tokens) {
    const auto on = [&](int n) {
      return calibrated_step(reduce(model, rtx_4090(), weights, n), prefill_load(1.0, tokens));
    };
    return on(1).total() / on(devices).total();
  };
  // One micro-batch cannot overlap with anything.
  CHECK(speedup(llama_2_7b(), formats::fp16, 4, 512) < 1.01);
  // 32 layers x 50 launches on 4 devices: 2.56 micro-batches fit the queues.
  const double small = speedup(llama_2_7b(), formats::fp16, 4, 8192);
  CHECK(small > 2);
  CHECK(small < 4);
  // 80 layers x 60 launches on 2: less than one.
  CHECK(speedup(llama_2_70b(), formats::q4_k_m, 2, 8192) < 1.3);
}

TEST_CASE("a split model decodes no faster") {
  const auto step = [&](int devices) {
    return calibrated_step(reduce(llama_2_7b(), rtx_4090(), formats::q4_k_m, devices),
                           decode_load(1.0, 500.0))
        .total();
  };
  CHECK(step(2) > step(1));
  CHECK((step(4) - step(2)) / microsecond > 100);  // two more hops
}

TEST_CASE("nothing to do takes no time") {
  CHECK(calibrated_step(reduce(llama_2_7b(), rtx_4090(), formats::fp16), StepLoad<double>{})
            .total() == Seconds{});
}

TEST_CASE("ideal <= roofline <= calibrated for a local runtime") {
  property("any device, format, split and load", [] {
    const double wide = of_any_size(1e12, 2e15);
    const double integer = wide * whole(0, 4);
    const double vector = wide * between(0, 1);
    const Accelerator on = device(wide, integer, vector, of_any_size(5e10, 1e13));
    Engine engine = runtime();
    LocalRuntimeConstants& c = *engine.local_runtime;
    c.weight_stream = between(0.3, 1);
    c.stream_ceiling = of_any_size(1e11, 1e15);
    c.tensor_compute = between(0.2, 1);
    c.vector_compute = between(0.2, 1);
    c.unpack_flops = between(0, 50);
    c.cache_passes = between(1, 4);
    c.score_bytes = between(0, 40);
    c.elementwise_passes = between(0, 2);
    if (whole(0, 1) == 1) {
      c.step = c.per_layer = c.per_prompt_layer = c.per_device_hop = Seconds{};
      c.launches_per_layer = 0;
    }
    const Format formats_of[] = {formats::fp16, formats::bf16, formats::q8_0, formats::q4_k_m,
                                 formats::fp32};
    const Model of[] = {llama_2_7b(), llama_2_70b(), mixtral_8x7b()};
    const StepModel<double> model =
        reduce(of[whole(0, 2)], on, formats_of[whole(0, 4)], whole(1, 4), engine);
    StepLoad<double> load;
    load.sequences = whole(0, 64);
    load.context = between(0, 20000);
    load.prompts = whole(0, 4);
    load.prompt_tokens = whole(1, 6000);
    load.prefix_tokens = whole(0, 1) * between(0, 8000);
    const double ideal = ideal_step(model, load).total().base();
    const double roofline = roofline_step(model, load).total().base();
    const double calibrated = calibrated_step(model, load).total().base();
    RC_ASSERT(at_most(ideal, roofline));
    RC_ASSERT(at_most(roofline, calibrated));
    RC_ASSERT(std::isfinite(calibrated));
  });
}

TEST_CASE("local steps differentiate") {
  const StepModel<double> plain = reduce(llama_2_7b(), rtx_4090(), formats::q4_k_m);
  StepModel<Dual<1>> dual{plain.operators, widen<Dual<1>>(plain.machine), plain.kernels,
                          plain.engine, plain.local_runtime};
  const Dual<1> context = Dual<1>::variable(1000.0, 0);
  const auto at = [&](double c) {
    return calibrated_step(plain, decode_load(1.0, c)).total().base();
  };
  const Dual<1> time = calibrated_step(dual, decode_load(Dual<1>(1.0), context)).total().base();
  CHECK(time.value == Approx(at(1000)).epsilon(1e-12));
  CHECK(time.gradient[0] == Approx((at(1001) - at(999)) / 2).epsilon(1e-6));
}

}  // namespace tokenroof
