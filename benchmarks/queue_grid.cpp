// Closed form against simulation, case by case: the error statement of engine_estimate.hpp.
//
//   queue_grid [scale [seed]] > queue_grid.csv      the summary goes to stderr
//
// 180 cases: loads 0.2 to 0.97, K 16 to 512, fixed, geometric and lognormal outputs, chunked and
// exclusive prefill (one prompt or several a step), prompts fixed or lognormal, prefix hits in a
// third of the cases, prefill from 5 to 60 % of a full engine, 12 of them with bursty arrivals.
// `scale` multiplies the number of simulated requests; another `seed` (42) draws other engines.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tokenroof/serving/engine_estimate.hpp"
#include "tokenroof/serving/simulation.hpp"

namespace {
using namespace tokenroof;

struct Case {
  PrefillMode mode = PrefillMode::chunked;
  int places = 64;
  double base = 0.02, slope = 0.0002;  // T(n) = base + slope n
  double output = 200;
  LengthLaw output_law, input_law;
  double prompt = 1024, token_time = 1e-5;
  double hit_probability = 0, hit_share = 0;
  int budget = 8192;
  double load = 0.5, arrival_squared_cv = 1;
};

const char* name(PrefillMode mode) {
  return mode == PrefillMode::chunked  ? "chunked"
         : mode == PrefillMode::packed ? "packed"
                                       : "one_by_one";
}
const char* name(LengthLaw::Kind kind) {
  return kind == LengthLaw::Kind::fixed       ? "fixed"
         : kind == LengthLaw::Kind::geometric ? "geometric"
                                              : "lognormal";
}

std::vector<Case> grid(std::uint64_t seed) {
  std::vector<Case> cases;
  Random random(seed);
  const auto pick = [&random](auto... values) {
    const double all[] = {static_cast<double>(values)...};
    return all[random.below(sizeof...(values))];
  };
  for (const int places : {16, 64, 256, 512})
    for (const double load : {0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.97})
      for (const bool chunked : {false, true})
        for (const auto kind :
             {LengthLaw::Kind::fixed, LengthLaw::Kind::geometric, LengthLaw::Kind::lognormal}) {
          Case c;
          c.places = places;
          c.load = load;
          c.output_law.kind = kind;
          c.output_law.cv = pick(0.7, 1.0, 1.31);
          c.output = pick(100, 200, 400);
          switch (random.below(3)) {
            case 0:
              break;
            case 1:
              c.base = 0.01;
              c.slope = 0.064 / places;  // the batch dominates
              break;
            default:
              c.base = 0.008;
              c.slope = 0.00004;
          }
          c.prompt = pick(512, 1024, 2048, 4096);
          if (random.below(3) == 0) {
            c.input_law.kind = LengthLaw::Kind::lognormal;
            c.input_law.cv = 1;
          }
          const double share = pick(0.05, 0.15, 0.35, 0.6);
          if (random.below(3) == 0) {
            c.hit_probability = 0.5;
            c.hit_share = 0.8;
          }
          const double full = (c.output - 1) * (c.base + c.slope * places) / places;
          const double prefill = share / (1 - share) * full;
          c.token_time = prefill / c.prompt / (1 - c.hit_probability * c.hit_share);
          c.budget = static_cast<int>(pick(512, 1024, 2048, 8192));
          const bool packed = random.below(2) == 1;
          c.mode = chunked ? PrefillMode::chunked
                           : (packed ? PrefillMode::packed : PrefillMode::one_by_one);
          if (chunked) c.budget = std::max(c.budget, places + 256);
          cases.push_back(c);
        }
  const std::size_t plain = cases.size();
  for (std::size_t i = 0; i < 12; ++i) {
    Case c = cases[(i * 29 + 7) % plain];
    c.arrival_squared_cv = i % 2 == 0 ? 2 : 4;
    cases.push_back(c);
  }
  return cases;
}

struct Row {
  EngineEstimate closed;
  SimulationResult sim;  // means over replications
  int replications = 1;
};

Row evaluate(const Case& c, std::uint64_t seed, double scale) {
  std::vector<Seconds> steps;
  for (int n = 1; n <= c.places; ++n) steps.push_back((c.base + c.slope * n) * second);
  const PrefillLaw law = prefill_law(
      c.input_law, TokensPerRequest::from_base(c.prompt),
      [&](double tokens) { return tokens * c.token_time * second; }, c.hit_probability,
      c.hit_share);
  EngineLoad load;
  load.output = TokensPerRequest::from_base(c.output);
  load.output_squared_cv = c.output_law.squared_cv(c.output);
  load.mean_inverse_decodes = mean_inverse_decodes(c.output_law, load.output);
  load.prefill = law.shares();
  load.mode = c.mode;
  load.prompt = TokensPerRequest::from_base(c.prompt * (1 - c.hit_probability * c.hit_share));
  load.token_budget = c.budget * token;
  load.arrival_squared_cv = c.arrival_squared_cv;
  load.arrivals = c.load * engine_limit(load, steps);
  load.outputs = &c.output_law;

  Row row;
  row.closed = engine_estimate(load, steps);
  row.replications = c.load > 0.95 ? 6 : c.load > 0.9 ? 3 : 1;
  StreamLaw stream;
  const double requests = c.load > 0.8 ? 2e6 : c.load > 0.7 ? 6e5 : 1.5e5;
  stream.requests = static_cast<std::size_t>(requests * scale);
  stream.arrival_rate = load.arrivals;
  stream.arrival_squared_cv = c.arrival_squared_cv;
  stream.input = TokensPerRequest::from_base(c.prompt);
  stream.output = load.output;
  stream.input_law = c.input_law;
  stream.output_law = c.output_law;
  stream.prefix_hit_probability = c.hit_probability;
  stream.prefix_hit_share = c.hit_share;
  SimulatedEngine engine;
  engine.max_sequences = c.places;
  engine.chunked = c.mode == PrefillMode::chunked;
  engine.token_budget = c.budget;
  engine.prompts_per_prefill = c.mode == PrefillMode::one_by_one ? 1 : 1 << 30;
  const auto step = [&](const SimulatedStep& l) {
    const double decode = engine.chunked || l.decoding > 0 ? c.base + c.slope * l.decoding : 0;
    return (decode + l.prefill_tokens * c.token_time) * second;
  };
  const double share = 1.0 / row.replications;
  for (int r = 0; r < row.replications; ++r) {
    stream.seed = seed * 1000 + static_cast<std::uint64_t>(r);
    const SimulationResult one = simulate(draw_requests(stream), engine, {}, step);
    row.sim.mean_running += share * one.mean_running;
    row.sim.itl.mean += share * one.itl.mean;
    row.sim.tpot.mean += share * one.tpot.mean;
    row.sim.tpot.p95 += share * one.tpot.p95;
    row.sim.e2e.p95 += share * one.e2e.p95;
    for (auto member :
         {&TimeSummary::mean, &TimeSummary::p50, &TimeSummary::p95, &TimeSummary::p99})
      row.sim.ttft.*member += share * (one.ttft.*member);
    // Independent runs: variances add.
    for (auto member : {&TimeSummary::mean_error, &TimeSummary::p95_error}) {
      const double e = (one.ttft.*member).base() * share;
      const double sum = (row.sim.ttft.*member).base();
      row.sim.ttft.*member = std::sqrt(sum * sum + e * e) * second;
    }
  }
  return row;
}

struct Errors {
  std::map<std::string, std::vector<double>> of;
  void add(const std::string& metric, double error) { of[metric].push_back(std::fabs(error)); }
  void print(const std::string& group) {
    for (auto& [metric, all] : of) {
      std::sort(all.begin(), all.end());
      std::fprintf(stderr,
                   "%-24s %-12s %4zu cases  median %5.2f %%  p90 %5.2f %%  worst %6.2f %%\n",
                   group.c_str(), metric.c_str(), all.size(), 100 * all[all.size() / 2],
                   100 * all[all.size() * 9 / 10], 100 * all.back());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const double scale = argc > 1 ? std::atof(argv[1]) : 1;
  const std::vector<Case> cases = grid(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 42);
  std::map<std::string, Errors> groups;
  std::printf(
      "case,mode,places,load,arrival_squared_cv,output,output_law,output_squared_cv,prompt,"
      "prompt_law,hits,budget,prefill_share,rate,running,running_sim,tpot,tpot_sim,tpot_request,"
      "tpot_request_sim,tpot_p95,tpot_p95_sim,ttft,ttft_sim,ttft_sim_error,ttft_p50,ttft_p50_sim,"
      "ttft_p95,ttft_p95_sim,ttft_p95_sim_error,ttft_p99,ttft_p99_sim,e2e_p95,e2e_p95_sim\n");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const Row row = evaluate(c, i + 1, scale);
    const EngineEstimate& e = row.closed;
    const SimulationResult& s = row.sim;
    const double rate = (e.load * e.limit).base();
    std::printf("%zu,%s,%d,%g,%g,%g,%s,%.4g,%g,%s,%g,%d,%.4g,%.6g", i, name(c.mode), c.places,
                c.load, c.arrival_squared_cv, c.output, name(c.output_law.kind),
                c.output_law.squared_cv(c.output), c.prompt, name(c.input_law.kind),
                c.hit_probability * c.hit_share, c.budget, rate * e.prefill.base(), rate);
    const double values[] = {e.running.base(),        s.mean_running.base(),    e.tpot.base(),
                             s.itl.mean.base(),       e.tpot_request.base(),    s.tpot.mean.base(),
                             e.tpot_p95.base(),       s.tpot.p95.base(),        e.ttft.base(),
                             s.ttft.mean.base(),      s.ttft.mean_error.base(), e.ttft_p50.base(),
                             s.ttft.p50.base(),       e.ttft_p95.base(),        s.ttft.p95.base(),
                             s.ttft.p95_error.base(), e.ttft_p99.base(),        s.ttft.p99.base(),
                             e.e2e_p95.base(),        s.e2e.p95.base()};
    for (const double v : values) std::printf(",%.6g", v);
    std::printf("\n");
    std::fflush(stdout);
    const bool bursty = c.arrival_squared_cv != 1;
    const std::string high = bursty ? "bursty" : c.load <= 0.92 ? "load <= 0.92" : "load 0.97";
    for (const std::string& group :
         {high,
          bursty ? high : std::string(name(c.mode)) + (c.load <= 0.92 ? " <= 0.92" : " 0.97")}) {
      Errors& errors = groups[group];
      errors.add("running", e.running / s.mean_running - 1);
      errors.add("tpot", e.tpot.base() / s.itl.mean.base() - 1);
      errors.add("tpot_request", e.tpot_request.base() / s.tpot.mean.base() - 1);
      errors.add("tpot_p95", e.tpot_p95.base() / s.tpot.p95.base() - 1);
      errors.add("ttft", e.ttft / s.ttft.mean - 1);
      errors.add("ttft_p50", e.ttft_p50 / s.ttft.p50 - 1);
      errors.add("ttft_p95", e.ttft_p95 / s.ttft.p95 - 1);
      errors.add("ttft_p99", e.ttft_p99 / s.ttft.p99 - 1);
      errors.add("e2e_p95", e.e2e_p95 / s.e2e.p95 - 1);
      errors.add("ttft_sim_ci", s.ttft.mean_error / s.ttft.mean);
      errors.add("p95_sim_ci", s.ttft.p95_error / s.ttft.p95);
      if (bursty) break;
    }
  }
  for (auto& [group, errors] : groups) errors.print(group);
}
