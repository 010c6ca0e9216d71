// Sheet calc: decode, prompts, the closed loop and the landmarks.
#include <fmt/format.h>

#include <cmath>

#include "tokenroof/physics/kv_cache.hpp"
#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {

void calc_speed(Calc& calc, const Subject& subject) {
  const Point& a = subject.ideal;
  const Point& b = subject.shown;
  const auto scaled = [&](const char* label, const std::string& name, const std::string& ideal,
                          const char* ratio, Seconds x, Seconds y) {
    calc.each(label, "s", name, {ideal, x.base()}, {name + "_ideal*" + ratio, y.base()});
  };
  calc.section("Decode");
  const bool drafts = subject.drafts();
  const std::string main = drafts ? "verify" : "plain";
  scaled("decode step", "decode_step",
         drafts ? "step_verify_ideal+draft_tokens*draft_cost*step_plain_ideal" : "step_plain_ideal",
         "ratio_decode", a.decode.step, b.decode.step);
  calc.one("tokens that a step yields", "token", "tokens_per_step",
           {drafts ? "IF(acceptance=1,draft_tokens+1,(1-acceptance^(draft_tokens+1))/"
                     "(1-acceptance))"
                   : "1",
            b.replica.tokens_per_step});
  const double g = b.replica.tokens_per_step;
  calc.both("time per token of a sequence", "s", "token_time", "decode_step@/tokens_per_step",
            a.decode.step.base() / g, b.decode.step.base() / g);
  calc.both("tokens/s that one user sees", "token/s", "tokens_per_s_per_user", "1/token_time@",
            a.decode.per_sequence.base(), b.decode.per_sequence.base());
  calc.both("tokens/s of all replicas", "token/s", "tokens_per_s_total",
            "tokens_per_s_per_user@*batch*replicas", a.decode.total.base(), b.decode.total.base());
  calc.both("MFU: multiplies over dense peak", "1", "compute_utilization",
            "multiply_s_" + main + "_ideal/decode_step@", a.decode.compute_utilization,
            b.decode.compute_utilization);
  calc.both("MBU: weights and cache over bandwidth", "1", "bandwidth_utilization",
            "memory_s_" + main + "_ideal/decode_step@", a.decode.bandwidth_utilization,
            b.decode.bandwidth_utilization);
  calc.section("Prompts");
  scaled("prefill of one prompt alone", "prompt_alone", "step_prompt_ideal", "ratio_prompt",
         a.prefill.time, b.prefill.time);
  calc.both("prompt tokens over that time", "token/s", "prompt_rate",
            "computed_tokens/prompt_alone@", a.prefill.rate.base(), b.prefill.rate.base());
  scaled("prompt's share when ranks and stages are full of them", "prompt_share",
         "step_prompts_ideal/lanes", "ratio_share", a.prompt_share, b.prompt_share);
  scaled("what a prompt adds to a decode step", "prompt_beside",
         "(step_mixed_ideal-step_" + main + "_ideal)/prompts_beside", "ratio_beside",
         a.prompt_beside, b.prompt_beside);
}

void calc_loop(Calc& calc, const Subject& subject) {
  if (subject.traffic != Traffic::closed) return;
  calc.section("Closed loop");
  if (!subject.shown.loop) {
    calc.one("completed requests", "request/s", "request_rate", {"\"\"", std::nullopt},
             "not one request fits: make room and export again");
    return;
  }
  const auto& traffic = std::get<ClosedLoopTraffic>(subject.scenario.workload.traffic);
  const double n = subject.batch;
  const double each = traffic.concurrency.base() / subject.replicas;
  const double output = subject.lengths().output;
  const bool first = subject.shown.replica.prompts_first;
  const bool vary = subject.scenario.workload.lengths.kind != LengthLaw::Kind::fixed;
  struct Side {
    double prompt, work, ahead, overhead, usual;
  } side[2];
  const Point* points[] = {&subject.ideal, &subject.shown};
  const double together = std::min(
      n, std::max(1.0, subject.scenario.engine.max_batched_tokens / subject.lengths().computed()) *
             subject.shown.replica.lanes());
  const ClosedLoopLoad loop = closed_loop_load(subject.shown.replica, subject.scenario, each);
  const double meeting = (first ? loop.arrival_interval : 1) * 2.5 * n / output;
  for (int i = 0; i < 2; ++i) {
    const Point& p = *points[i];
    const EngineConstants e = loop_constants(p.replica);
    const double token_time = p.decode.step.base() / p.replica.tokens_per_step;
    side[i].prompt = (first || n < 1 ? p.prompt_share : p.prompt_beside).base();
    side[i].work = output * token_time + n * side[i].prompt;
    const double before =
        vary ? (first ? (meeting > together ? 0.5 * (meeting + together) : meeting) : 2 * meeting)
             : e.prompts_ahead * (first ? 0.5 * (n - 1) : 1);
    side[i].ahead = std::min(before, std::max(0.0, n - 1));
    side[i].overhead = (e.request_overhead + subject.lengths().prompt * e.per_prompt_token).base();
    side[i].usual = side[i].overhead + side[i].prompt * (p.replica.lanes() + side[i].ahead) +
                    loop.waited_steps() * token_time;
  }
  const auto both = [&](const char* label, const char* name, const std::string& formula,
                        double Side::*part, const char* note = "") {
    calc.both(label, "s", name, formula, side[0].*part, side[1].*part, note);
  };
  both("time of a prompt", "prompt_time",
       first ? "prompt_share@" : "IF(batch<1,prompt_share@,prompt_beside@)", &Side::prompt,
       first ? "prompts run before any decode" : "prompts ride with decodes");
  both("work of a request among the running ones", "loop_work",
       "output_mean*token_time@+batch*prompt_time@", &Side::work);
  if (vary && first)
    calc.one("prompts that share a step", "request", "prompts_together",
             {"MIN(batch,MAX(1,max_batched_tokens/computed_tokens)*lanes)", together});
  const int interval = subject.scenario.engine.schedule_interval;
  const std::string meet =
      (first && interval > 1 ? fmt::format("{}*", interval) : "") + "2.5*batch/output_mean";
  const auto at_most = [](const std::string& formula) {
    return "MIN(" + formula + ",MAX(0,batch-1))";
  };
  if (vary)
    calc.both("other prompts served first", "request", "prompts_before",
              at_most(first ? "IF(" + meet + ">prompts_together,0.5*(" + meet +
                                  "+prompts_together)," + meet + ")"
                            : "2*" + meet),
              side[0].ahead, side[1].ahead);
  else
    calc.each("other prompts served first", "request", "prompts_before", {"0", side[0].ahead},
              {at_most(first ? "prompts_ahead*0.5*(batch-1)" : "prompts_ahead"), side[1].ahead});
  calc.each("before and after the engine", "s", "loop_overhead", {"0", side[0].overhead},
            {"request_overhead_s+prompt_tokens*per_prompt_token_s", side[1].overhead});
  std::string waited = first ? "1" : "2";
  if (loop.scheduled_ahead) waited += "+IF(AND(batch>1,concurrency/replicas<=batch),1,0)";
  if (interval > 1) waited = fmt::format("0.5*{}", interval);
  both("first token while no place must be waited for", "loop_first",
       "loop_overhead@+prompt_time@*(lanes+prompts_before@)+(" + waited + ")*token_time@",
       &Side::usual);
  calc.one("rounds of waiting for a place", "1", "loop_rounds",
           {"MAX(1,concurrency/replicas/batch)", std::max(1.0, each / n)});
  const ClosedLoop& x = *subject.ideal.loop;
  const ClosedLoop& y = *subject.shown.loop;
  calc.both("arrival to last token, mean", "s", "residence_s",
            "loop_work@*loop_rounds+loop_overhead@", x.residence.base(), y.residence.base());
  calc.both("time to first token, mean", "s", "ttft_s",
            "IF(output_mean<=1,residence_s@,MIN(loop_first@,0.95*loop_work@)+loop_work@*"
            "(loop_rounds-1))",
            x.ttft.base(), y.ttft.base());
  calc.both("time per output token after the first, mean", "s", "tpot_s",
            "IF(output_mean<=1,0,(residence_s@-ttft_s@)/(output_mean-1))", x.tpot.base(),
            y.tpot.base());
  calc.both("completed requests", "request/s", "request_rate", "concurrency/residence_s@",
            x.rate.base() * subject.replicas, y.rate.base() * subject.replicas);
}

void calc_landmarks(Calc& calc, const Subject& subject) {
  const Coefficients& c = subject.c;
  const LimitsAnswer& limits = subject.ideal.limits;
  const Deployment& d = subject.scenario.deployment;
  calc.section("Landmarks");
  std::string flops, weights = "weights_gb", growth, attention;
  double flops_value = 0, weights_value = c.weight_bytes, growth_value = 0, attention_value = 0;
  const auto plus = [](std::string& sum, const std::string& term) {
    sum += (sum.empty() ? "" : "+") + term;
  };
  const Machine<double>& machine = subject.ideal.replica.model.machine;
  for (const LinearGroup& group : c.linear) {
    plus(flops, fmt::format("linear_{}_gflop", to_string(group.type)));
    if (group.per_logit > 0) plus(flops, fmt::format("head_{}_gflop", to_string(group.type)));
    flops_value += group.per_token + group.per_logit;
  }
  for (std::size_t i = 0; i < c.experts.size(); ++i) {
    const std::string n = numbered(i, c.experts.size());
    plus(flops, "expert_gflop" + n);
    plus(weights, fmt::format("experts{0}*expert_gb{0}", n));
    flops_value += c.experts[i].flops;
    weights_value += c.experts[i].experts * c.experts[i].bytes;
  }
  for (std::size_t i = 0; i < c.attention.size(); ++i) {
    const AttentionGroup& group = c.attention[i];
    const std::string n = numbered(i, c.attention.size());
    if (group.window > 0) continue;
    if (group.kind == OperatorKind::attention) {
      plus(growth,
           "kv_bytes_per_token" + n + (group.compress != 1 ? "/attention_compress" + n : ""));
      growth_value += group.cache_bytes / group.compress;
    }
    if (group.top_k > 0) continue;
    plus(attention, fmt::format("attention_flop_per_token{}/(peak_{}_tflop_s*10^12)", n,
                                to_string(group.type)));
    attention_value += group.flops / machine.peak_of(group.type);
  }
  const double stored =
      kv_geometry(subject.scenario.model, stage_group_counts(subject.scenario.model, 1, 0),
                  subject.scenario.precision.kv_cache, subject.scenario.precision.activations,
                  d.tensor_parallel, d.context_parallel)
          .growth()
          .base();
  // Layers that read another layer's cache store none: then the growth is not the sum of reads.
  const bool reads_grow = std::abs(stored - growth_value) <= 1e-12 * stored;
  calc.one("KV bytes per further token", "B/token", "kv_growth",
           {reads_grow && !growth.empty() ? growth : fmt::format("{}", stored), stored},
           reads_grow ? "layers that keep every token"
                      : "layers that keep every token; some layers read a cache that others store");
  calc.one("FLOPs of a token, attention apart", "FLOP", "token_flop",
           {flops.empty() ? "0" : "(" + flops + ")*10^9", flops_value});
  const LoadValues& floor = subject.values("floor");
  const double linear = floor.linear + floor.attention + floor.experts;
  calc.one("seconds of them at dense peaks", "s", "token_s", {"multiply_s_floor_ideal", linear});
  calc.one("weights that multiply", "B", "resident_bytes",
           {"(" + weights + ")*10^9", weights_value});
  calc.one("weights read at the batch", "B", "read_bytes",
           {c.experts.empty() ? "weights_gb*10^9" : "weights_gb*10^9+expert_bytes_plain_ideal",
            c.weight_bytes + subject.values("plain").expert_bytes});
  calc.one("attention of a query per context token", "s", "attention_token_s",
           {attention.empty() ? "0" : attention, attention_value});
  calc.one("ridge", "FLOP/B", "ridge",
           {"token_flop/token_s/(memory_bandwidth_tb_s*10^12)", limits.ridge.base()});
  calc.one("critical batch", "token", "critical_batch",
           {"resident_bytes/(memory_bandwidth_tb_s*10^12)/token_s", limits.critical_batch.base()});
  const auto context = [](const std::optional<TokensPerRequest>& value) {
    return value ? std::optional<double>(value->base()) : std::nullopt;
  };
  calc.one("context where KV bytes equal weight bytes (S_w)", "token", "crossover_weights",
           {"IF(kv_growth>0,read_bytes/(MAX(1,batch/(attention_ranks*pipeline_stages))*kv_growth),"
            "\"\")",
            context(limits.crossover_weights)},
           limits.crossover_weights ? "" : "no layer keeps every token");
  calc.one("context where KV time equals compute time (S_c0)", "token", "crossover_compute",
           {"IF(kv_growth>0,token_s*memory_bandwidth_tb_s*10^12/kv_growth,\"\")",
            context(limits.crossover_compute)},
           limits.crossover_compute ? "" : "no layer keeps every token");
  const std::string slack = "kv_growth/(memory_bandwidth_tb_s*10^12)-attention_token_s";
  const bool never = !limits.crossover_compute_with_attention;
  calc.one("the same with attention arithmetic (S_c1)", "token", "crossover_compute_attention",
           {"IF(AND(kv_growth>0," + slack + ">0),token_s/(" + slack + "),\"\")",
            context(limits.crossover_compute_with_attention)},
           never ? "decode attention is compute bound, or no layer keeps every token" : "");
  calc.each("token of one sequence without context", "s", "latency_floor",
            {subject.drafts() ? "(step_floor_verify_ideal+draft_tokens*draft_cost*step_floor_ideal)"
                                "/tokens_per_step"
                              : "step_floor_ideal",
             limits.latency_floor.base()},
            {"latency_floor_ideal*ratio_floor", subject.shown.limits.latency_floor.base()});
  calc.one("reading the memory once", "s", "drain_time",
           {"memory_nominal_gb*10^9/(memory_bandwidth_tb_s*10^12)", limits.drain_time.base()});
}

}  // namespace tokenroof::io::xlsx
