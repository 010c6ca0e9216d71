// The memory plan with its verdict: when a model or a context does not fit, by how much, which line
// is to blame, and the smallest changes that would make it fit.
//
// Changes are tried on the plan itself, smallest first: a larger memory fraction (at most 0.97), a
// shorter context, an 8-bit cache, 8-bit weights, 4-bit weights, more tensor parallel (doubling up
// to a node), more pipeline stages. What does not help is not named.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tokenroof/physics/memory.hpp"

namespace tokenroof {

namespace detail {

/// "12.34 GiB".
[[nodiscard]] inline std::string gib_text(Bytes bytes) {
  return decimal_text(bytes / gibibyte, 2) + " GiB";
}

/// A fraction rounded up to three digits.
[[nodiscard]] inline std::string fraction_text(double fraction) {
  return decimal_text(std::ceil(fraction * 1000 - 1e-9) / 1000, 3);
}

/// `precision` with every matrix that is wider than `format` stored in it; embedding and head stay.
[[nodiscard]] inline Precision narrowed(Precision precision, const Format& format) {
  for (const Part part :
       {Part::attention, Part::dense_feed_forward, Part::routed_experts, Part::shared_experts})
    if (precision.of(part).bytes_per_element > format.bytes_per_element)
      precision.set(part, format);
  return precision;
}

/// The largest line but the pool, as a clause.
[[nodiscard]] inline std::string largest_line(const MemoryPlan& plan) {
  MemoryLine largest{"weights", plan.weights};
  for (const MemoryLine& line : plan.lines())
    if (line.name != "kv_pool" && line.name != "unclaimed" && line.bytes > largest.bytes)
      largest = line;
  return std::string(largest.name) + " take " + gib_text(largest.bytes) + " of the " +
         gib_text(plan.budget) + " that a device may fill";
}

}  // namespace detail

/// Changes after which one sequence of `context` tokens fits, in words, smallest first; none: no
/// single change helps.
[[nodiscard]] inline std::vector<std::string> memory_remedies(
    const Model& model, const Accelerator& device, const Engine& engine, const Precision& precision,
    const Deployment& deployment, TokensPerRequest context, const MemoryOptions& options = {}) {
  std::vector<std::string> helps;
  const auto lines = [&](const Precision& p, const Deployment& d) {
    return memory_lines(model, device, engine, p, d, context, options);
  };
  const auto fits = [&](const Precision& p, const Deployment& d) {
    const MemoryPlan plan = lines(p, d);
    return plan.deficit == Bytes{} && plan.concurrency >= 1;
  };
  const MemoryPlan now = lines(precision, deployment);

  const double most = 0.97;  // the driver and other processes need the rest
  if (!options.kv_pool && now.least_fraction <= most) {
    Engine fuller = engine;  // whole blocks may need a little more than the bytes say
    for (int tries = 0; tries < 3; ++tries) {
      fuller.memory_fraction = (std::ceil(now.least_fraction * 1000 - 1e-9) + tries) / 1000;
      const MemoryPlan plan =
          memory_lines(model, device, fuller, precision, deployment, context, options);
      if (plan.deficit > Bytes{} || plan.concurrency < 1) continue;
      helps.push_back("memory_fraction " + detail::fraction_text(fuller.memory_fraction));
      break;
    }
  }
  if (now.max_context.base() >= 1)
    helps.push_back("a context of at most " +
                    std::to_string(static_cast<long long>(now.max_context.base())) + " tokens");
  if (precision.kv_cache.bytes_per_element > 1) {
    Precision narrower = precision;
    narrower.kv_cache = formats::fp8;
    if (fits(narrower, deployment)) helps.push_back("kv_cache fp8");
  }
  if (!options.weights) {
    for (const Format& format : {formats::fp8, formats::int4}) {
      if (!fits(detail::narrowed(precision, format), deployment)) continue;
      helps.push_back("weights " + std::string(format.name));
      break;
    }
    const auto more_devices = [&](const char* name, int Deployment::*degree, int limit) {
      Deployment wider = deployment;
      for (wider.*degree *= 2; wider.*degree <= limit; wider.*degree *= 2) {
        if (!layout_verdict(model, wider).ok() || !fits(precision, wider)) continue;
        helps.push_back(name + std::to_string(wider.*degree));
        return;
      }
    };
    more_devices("tensor_parallel ", &Deployment::tensor_parallel, deployment.devices_per_node);
    more_devices("pipeline_parallel ", &Deployment::pipeline_parallel, model.layers());
  }
  return helps;
}

/// The memory plan of a replica at sequences of `context` tokens, with its verdict. Context 0 asks
/// for the weights alone. Never a negative batch: a deficit instead.
[[nodiscard]] inline MemoryPlan memory_plan(const Model& model, const Accelerator& device,
                                            const Engine& engine, const Precision& precision,
                                            const Deployment& deployment, TokensPerRequest context,
                                            const MemoryOptions& options = {}) {
  const Verdict layout = layout_verdict(model, deployment);
  if (!layout.ok()) {
    MemoryPlan none;
    none.visible = none.unclaimed =
        options.nominal_memory ? device.memory_nominal : device.memory_visible;
    none.context = context;
    none.verdict = layout;
    return none;
  }
  MemoryPlan plan = memory_lines(model, device, engine, precision, deployment, context, options);
  const bool fits = plan.deficit == Bytes{};
  if (fits && deployment.devices_per_replica() > 1 &&
      !(device.scale_up.bandwidth > BytesPerSecond{}) && !device.scale_out) {
    plan.verdict = {
        Outcome::invalid_layout,
        "a replica of several devices needs a link between them; " + device.id + " states none",
        "use one device a replica, or state scale_up of the accelerator"};
    return plan;
  }
  if (fits && (plan.concurrency >= 1 || context.base() <= 0)) return plan;

  const std::string tokens = std::to_string(static_cast<long long>(context.base())) + " tokens";
  if (fits) {
    plan.verdict.outcome = Outcome::context_does_not_fit;
    plan.verdict.reason = "one sequence of " + tokens + " needs " +
                          detail::gib_text(plan.kv_per_sequence) + " of KV cache per device, " +
                          detail::gib_text(plan.kv_pool) + " is left; " +
                          detail::largest_line(plan);
  } else {
    plan.verdict.outcome = Outcome::does_not_fit;
    plan.verdict.reason = detail::gib_text(plan.deficit) + " too little before any KV cache; " +
                          detail::largest_line(plan);
  }
  for (const std::string& change :
       memory_remedies(model, device, engine, precision, deployment, context, options))
    plan.verdict.remedy += (plan.verdict.remedy.empty() ? "" : ", or ") + change;
  if (plan.verdict.remedy.empty())
    plan.verdict.remedy = "no single change helps: more or larger devices and narrower weights";
  return plan;
}

}  // namespace tokenroof
