#include <vector>

#include "catch2/catch.hpp"
#include "oracle.hpp"
#include "properties.hpp"
#include "tokenroof/analyze/calibration_fit.hpp"
#include "tokenroof/analyze/kernel_fit.hpp"
#include "tokenroof/physics/utilization.hpp"

using namespace tokenroof;
using namespace tokenroof::test;
using Catch::Matchers::Contains;

namespace {

constexpr FlopsPerSecond peak = 989e12 * flop / second;
constexpr BytesPerSecond bandwidth = 3.35e12 * byte / second;

/// Kernels on both sides of the ridge, timed by t0 = 5 us, shares 0.7 and 0.85, times `noise`.
std::vector<KernelSample> kernels(const std::vector<double>& noise) {
  const double work[][2] = {{1e9, 1e7},  {1e10, 1e7}, {1e11, 1e8},
                            {1e12, 2e8}, {1e10, 1e9}, {1e9, 1e8}};
  std::vector<KernelSample> samples;
  for (std::size_t i = 0; i < 6; ++i) {
    const Flops flops = Flops::from_base(work[i][0]);
    const Bytes bytes = Bytes::from_base(work[i][1]);
    const Seconds time = 5e-6 * second + flops / (0.7 * peak) + bytes / (0.85 * bandwidth);
    samples.push_back({flops, bytes, noise[i] * time});
  }
  return samples;
}
const std::vector<double> exact(6, 1.0);
const std::vector<double> noisy = {1.02, 0.98, 1.01, 0.99, 1.03, 0.97};

/// The same kernels as a general fit; the values are t0 in us and the two shares.
struct General {
  std::vector<KernelSample> samples;
  std::vector<CalibrationParameter> parameters = {
      {"fixed_us", 2, 0, 100}, {"compute", 0.5, 0.05, 1}, {"memory", 0.5, 0.05, 1}};
  [[nodiscard]] std::vector<CalibrationRow> rows() const {
    std::vector<CalibrationRow> result;
    for (const KernelSample& s : samples)
      result.push_back({s.time.base(), std::to_string(result.size() / 2)});
    return result;
  }
  [[nodiscard]] RowPrediction predict() const {
    return [this](std::size_t i, std::span<const double> v) {
      const KernelSample& s = samples[i];
      return (v[0] * 1e-6 * second + s.flops / (v[1] * peak) + s.bytes / (v[2] * bandwidth)).base();
    };
  }
};

}  // namespace

TEST_CASE("kernel constants by linear least squares") {
  const KernelFit fit = fit_kernel(kernels(noisy), peak, bandwidth);
  CHECK(fit.refusal.empty());
  CHECK(fit.fixed.base() == iterative("s13.lsq.t0"));
  CHECK(fit.compute_share == iterative("s13.lsq.eta_c"));
  CHECK(fit.memory_share == iterative("s13.lsq.eta_b"));
  CHECK(fit.physical);
  CHECK(fit.condition < 10);
}

TEST_CASE("P13.1: exact timings give their constants back") {
  const KernelFit fit = fit_kernel(kernels(exact), peak, bandwidth);
  CHECK(fit.fixed.base() == Approx(5e-6).epsilon(1e-9));
  CHECK(fit.compute_share == Approx(0.7).epsilon(1e-9));
  CHECK(fit.memory_share == Approx(0.85).epsilon(1e-9));
}

TEST_CASE("P13.2: scaling all times scales the constants") {
  property("times x c", [] {
    const double c = of_any_size(0.1, 10);
    std::vector<double> scaled = noisy;
    for (double& z : scaled) z *= c;
    const KernelFit one = fit_kernel(kernels(noisy), peak, bandwidth);
    const KernelFit other = fit_kernel(kernels(scaled), peak, bandwidth);
    RC_ASSERT(near(other.fixed.base(), c * one.fixed.base(), 1e-8));
    RC_ASSERT(near(other.compute_share, one.compute_share / c, 1e-8));
    RC_ASSERT(near(other.memory_share, one.memory_share / c, 1e-8));
  });
}

TEST_CASE("timings that do not identify the constants are refused") {
  std::vector<KernelSample> alike;
  for (const double size : {1e9, 2e9, 4e9, 8e9})
    alike.push_back(
        {Flops::from_base(size), Bytes::from_base(size / 100), Seconds::from_base(size / 1e14)});
  CHECK_THAT(fit_kernel(alike, peak, bandwidth).refusal, Contains("ridge"));
  alike.resize(2);
  CHECK_THAT(fit_kernel(alike, peak, bandwidth).refusal, Contains("three"));
  CHECK_THAT(fit_kernel({}, peak, bandwidth).refusal, Contains("three"));
}

TEST_CASE("P13.3: utilisations") {
  CHECK(model_flops_utilization<double>(2 * 70e9 * 1000 * flop / second, 8, peak) ==
        closed_form("s13.mfu.ex"));
  CHECK(model_bandwidth_utilization<double>((140e9 + 64 * 4096 * 327680.0) * byte,
                                            12.5 * millisecond, 8,
                                            bandwidth) == closed_form("s13.mbu.ex"));
}

TEST_CASE("P13.4: tiles and waves") {
  CHECK(wave_efficiency(133, 132) == closed_form("s13.wave.eff133"));
  CHECK(tile_efficiency(16, 64) == closed_form("s13.tile.m16of64"));
  property("at most 1, and 1 when they divide", [] {
    const int tiles = whole(1, 5000), processors = whole(1, 200);
    RC_ASSERT(at_most(wave_efficiency(tiles, processors), 1));
    RC_ASSERT(wave_efficiency(tiles * processors, processors) == 1);
  });
}

TEST_CASE("the general fit finds what the linear one finds, nearly") {
  General problem{kernels(exact)};
  const Calibration exactly = fit(problem.parameters, problem.rows(), problem.predict());
  REQUIRE(exactly.ok());
  CHECK(exactly.parameters[0].value == Approx(5).epsilon(1e-6));
  CHECK(exactly.parameters[1].value == Approx(0.7).epsilon(1e-6));
  CHECK(exactly.parameters[2].value == Approx(0.85).epsilon(1e-6));
  CHECK(exactly.in_sample.median_ape < 1e-6);
  CHECK(exactly.left_out.median_ape < 1e-5);
  CHECK(exactly.condition < 100);

  General rough{kernels(noisy)};
  const Calibration fitted = fit(rough.parameters, rough.rows(), rough.predict());
  CHECK(fitted.parameters[1].value == Approx(oracle("s13.lsq.eta_c")).epsilon(0.01));
  CHECK(fitted.groups == 3);
  CHECK(fitted.left_out.rows == 6);
  CHECK(fitted.left_out.median_ape >= 0.5 * fitted.in_sample.median_ape);
  CHECK(fitted.spread_low < 1);
  CHECK(fitted.spread_high > 1);
}

TEST_CASE("one wrong row does not pull the fit away") {
  std::vector<double> wrong = exact;
  wrong[3] = 3;
  General problem{kernels(wrong)};
  for (int copies = 0; copies < 3; ++copies) {
    const std::vector<KernelSample> more = kernels(exact);
    problem.samples.insert(problem.samples.end(), more.begin(), more.end());
  }
  const Calibration fitted = fit(problem.parameters, problem.rows(), problem.predict());
  CHECK(fitted.parameters[1].value == Approx(0.7).epsilon(0.05));
  CHECK(fitted.parameters[2].value == Approx(0.85).epsilon(0.05));
}

TEST_CASE("bounds hold, and are reported") {
  General problem{kernels(exact)};
  problem.parameters[1].high = 0.6;
  const Calibration fitted = fit(problem.parameters, problem.rows(), problem.predict());
  CHECK(fitted.parameters[1].value == 0.6);
  CHECK(fitted.parameters[1].at_bound);
  CHECK_FALSE(fitted.parameters[2].at_bound);
}

TEST_CASE("only what the rows identify is fitted, and the rest is named") {
  General problem{kernels(exact)};
  problem.parameters.push_back({"idle", 3, 0, 10});
  const RowPrediction known = problem.predict();
  const std::vector<CalibrationRow> rows = problem.rows();
  const Calibration fitted = fit(problem.parameters, rows, known);
  REQUIRE(fitted.ok());
  CHECK(fitted.parameters[0].fitted);
  CHECK_FALSE(fitted.parameters[3].fitted);
  CHECK(fitted.parameters[3].value == 3);
  CHECK_THAT(fitted.parameters[3].reason, Contains("hardly depend"));
  CalibrationOptions strict;
  strict.all_required = true;
  const Calibration refused = fit(problem.parameters, rows, known, strict);
  CHECK_THAT(refused.refusal, Contains("do not identify idle"));
  CHECK(refused.parameters[0].value == 2);

  // A twin of the fixed time cannot be told apart from it.
  problem.parameters[3] = {"twin_us", 2, 0, 100};
  const Calibration twins = fit(problem.parameters, rows,
                                [&](std::size_t i, auto v) { return known(i, v) + v[3] * 1e-6; });
  CHECK(twins.parameters[0].fitted != twins.parameters[3].fitted);
  const FittedParameter& kept = twins.parameters[twins.parameters[0].fitted ? 3 : 0];
  CHECK_THAT(kept.reason, Contains("apart from"));
}

TEST_CASE("few rows: as many constants as they carry") {
  General problem{kernels(exact)};
  problem.samples = {problem.samples[3]};  // one large, compute-bound kernel
  const Calibration fitted = fit(problem.parameters, problem.rows(), problem.predict());
  REQUIRE(fitted.ok());
  CHECK(fitted.parameters[1].fitted);
  CHECK_FALSE(fitted.parameters[0].fitted);
  CHECK_FALSE(fitted.parameters[2].fitted);
  CHECK(fitted.in_sample.median_ape < 1e-6);
  CHECK(fitted.left_out.rows == 0);  // one group
}

TEST_CASE("rows that cannot be used") {
  General problem{kernels(exact)};
  CHECK_THAT(fit(problem.parameters, {}, problem.predict()).refusal, Contains("no rows"));
  std::vector<CalibrationRow> rows = problem.rows();
  rows[2].measured = 0;
  CHECK_THAT(fit(problem.parameters, rows, problem.predict()).refusal, Contains("row 3"));
}

TEST_CASE("a pull keeps what the rows leave open near its start") {
  General problem{kernels(exact)};
  problem.parameters[0].pull = 100;
  const Calibration fitted = fit(problem.parameters, problem.rows(), problem.predict());
  CHECK(fitted.parameters[0].value == Approx(2).epsilon(0.05));
}
