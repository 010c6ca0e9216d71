// Sheet inputs: every number that may be changed, named, with its unit and origin.
#include <fmt/format.h>

#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

class Inputs {
 public:
  Inputs(Sheet& sheet, const Subject& subject)
      : sheet_(sheet), subject_(subject), from_(subject.explainer) {}

  void write() {
    price();
    deployment();
    workload();
    device();
    model();
  }

 private:
  void section(const char* title) {
    ++sheet_.row;
    sheet_.line(title, Style::section);
  }
  void put(const std::string& label, const std::optional<double>& value, const std::string& unit,
           const std::string& name, const std::string& origin, Style style = Style::input) {
    sheet_.text(0, label);
    sheet_.number(1, value, unit, style);
    finish(unit, name, origin);
  }
  void put(const std::string& label, const Formula& formula, const std::string& unit,
           const std::string& name, const std::string& origin) {
    sheet_.text(0, label);
    sheet_.formula(1, formula, unit, Style::input);
    finish(unit, name, origin);
  }
  void finish(const std::string& unit, const std::string& name, const std::string& origin) {
    sheet_.text(2, unit);
    sheet_.text(3, name, Style::note);
    sheet_.text(4, origin, Style::wrapped_note);
    // Not every spreadsheet makes room for wrapped text when it opens a file.
    constexpr std::size_t line = 78;
    const std::size_t lines = (origin.size() + line - 1) / line;
    if (lines > 1)
      worksheet_set_row(sheet_.worksheet(), static_cast<lxw_row_t>(sheet_.row),
                        LXW_DEF_ROW_HEIGHT * static_cast<double>(lines), nullptr);
    sheet_.name(1, name);
    ++sheet_.row;
  }
  /// A share of one: other numbers are refused when they are typed.
  void share(const std::string& label, double value, const std::string& name,
             const std::string& origin) {
    lxw_data_validation rule{};
    rule.validate = LXW_VALIDATION_TYPE_DECIMAL;
    rule.criteria = LXW_VALIDATION_CRITERIA_BETWEEN;
    rule.minimum_number = name == "utilization" ? 1e-6 : 0;
    rule.maximum_number = 1;
    worksheet_data_validation_cell(sheet_.worksheet(), static_cast<lxw_row_t>(sheet_.row), 1,
                                   &rule);
    put(label, value, "1", name, origin);
  }

  void price() {
    section("Price");
    const Price& price = subject_.scenario.price;
    std::optional<double> hourly;
    if (price.accelerator) hourly = *price.accelerator / (dollar / hour);
    put("Accelerator, per hour", hourly, "USD/h", "price_usd_per_hour",
        hourly ? from_.stated("/price/accelerator_hour") : "unknown: enter a price to see costs");
    share("Utilization: busy share of paid time", price.utilization, "utilization",
          from_.stated("/price/utilization"));
    put("Hours of a month", 730, "h", "hours_per_month", "8760 hours of a year over 12");
    const auto api = [&](const char* label, const char* name,
                         std::optional<DollarsPerToken> ApiRates::*rate) {
      std::optional<double> value;
      std::string origin = "unknown: enter a price to compare with";
      if (subject_.options.api) {
        const ApiPrice& listed = *subject_.options.api;
        const ApiRates rates = listed.rates_at(subject_.lengths().prompt * token);
        if (rates.*rate) {
          value = (rates.*rate)->base() * 1e6;
          origin = fmt::format("{} of {}: {}, {}{}", listed.model, listed.provider, listed.source,
                               listed.as_of, listed.unverified ? " (unverified)" : "");
        }
      }
      put(label, value, "USD/Mtok", name, origin);
    };
    api("API price of input tokens", "api_input_usd_per_mtok", &ApiRates::input);
    api("API price of cached input tokens", "api_cached_usd_per_mtok", &ApiRates::cache_read);
    api("API price of output tokens", "api_output_usd_per_mtok", &ApiRates::output);
  }

  void deployment() {
    section("Deployment");
    const Deployment& d = subject_.scenario.deployment;
    put("Accelerators of a replica", d.devices_per_replica(), "", "devices_per_replica",
        fmt::format(
            "tensor {} x pipeline {} x attention data {} x context {} parallel; the numbers "
            "of one device below hold for this split",
            d.tensor_parallel, d.pipeline_parallel, d.attention_data_parallel, d.context_parallel));
    const bool split = subject_.scenario.disaggregation && subject_.traffic != Traffic::single;
    put(split ? "Replicas that decode" : "Replicas", subject_.replicas, "", "replicas",
        split ? from_.stated("/disaggregation/decode_replicas")
              : from_.stated("/deployment/replicas"));
    if (split)
      put("Replicas that prefill", subject_.scenario.disaggregation->prefill_replicas, "",
          "prefill_replicas", from_.stated("/disaggregation/prefill_replicas"));
    put("Accelerators of a node", d.devices_per_node, "", "devices_per_node",
        from_.stated("/deployment/devices_per_node"));
    if (!subject_.drafts()) return;
    const Speculation& s = *subject_.scenario.speculation;
    put("Tokens drafted a step", s.draft_tokens, "token", "draft_tokens",
        from_.stated("/speculation/draft_tokens"));
    share("Acceptance of a drafted token", s.acceptance, "acceptance",
          from_.stated("/speculation/acceptance"));
    put("Draft step over target step", s.draft_cost, "1", "draft_cost",
        from_.stated("/speculation/draft_cost"));
  }

  void workload() {
    section("Workload");
    const Workload& w = subject_.scenario.workload;
    const WorkloadLengths& lengths = subject_.lengths();
    const bool single = subject_.traffic == Traffic::single;
    if (w.sessions) {
      put("Prompt tokens, mean", lengths.prompt, "token", "input_tokens",
          "sessions: a turn with its system prompt and history; export again for other sessions");
    } else if (single && lengths.prompt == lengths.live) {
      put("Prompt tokens", Formula{"context_tokens", lengths.prompt}, "token", "input_tokens",
          "one step: the context came in as a prompt");
    } else {
      put("Prompt tokens, stated", w.input.base(), "token", "input_tokens",
          from_.stated("/workload/input_tokens"));
    }
    put("Output tokens, stated", single ? lengths.output : w.output.base(), "token",
        "output_tokens", single ? "one step: one token" : from_.stated("/workload/output_tokens"));
    share("Prompt tokens found in a prefix cache", lengths.hit_share, "prefix_hit_rate",
          w.sessions ? "sessions" : from_.stated("/workload/prefix_hit_rate"));
    const double replicas = subject_.replicas;
    const ServingAnswer& serving = subject_.answer.serving;
    if (single) {
      put("Sequences of a replica's step", subject_.batch, "request", "batch",
          from_.stated("/workload/batch"));
      put("Context of each", lengths.live, "token", "context_tokens",
          from_.stated("/workload/context_tokens"));
      put("Requests to serve (sizes the fleet)", std::nullopt, "request/s", "target_rate",
          "unknown: one step has no rate; enter one to size a fleet");
    } else if (const auto* closed = std::get_if<ClosedLoopTraffic>(&w.traffic)) {
      put("Requests in the deployment, always", closed->concurrency.base(), "request",
          "concurrency", from_.stated("/workload/concurrency"));
      std::optional<double> rate;
      if (serving.request_rate) rate = serving.request_rate->base();
      put("Requests to serve (sizes the fleet)",
          Formula{"IF(ISNUMBER(request_rate),request_rate,\"\")", rate}, "request/s", "target_rate",
          "what this deployment completes; enter another rate");
    } else {
      put("Arrivals at the deployment", std::get<OpenLoop>(w.traffic).arrival_rate.base(),
          "request/s", "arrival_rate", from_.stated("/workload/arrival_rate"));
      put("Sequences of a replica's step", subject_.batch, "request", "batch",
          fmt::format("running sequences that the queue has at {} requests/s a replica; follows no "
                      "other cell: change it with the rate, or export again",
                      std::get<OpenLoop>(w.traffic).arrival_rate.base() / replicas));
      put("Requests to serve (sizes the fleet)",
          Formula{"arrival_rate", std::get<OpenLoop>(w.traffic).arrival_rate.base()}, "request/s",
          "target_rate", "the arrivals; enter another rate");
    }
  }

  void device() {
    section("One accelerator");
    const Accelerator& a = subject_.scenario.accelerator;
    put("Memory bandwidth", a.memory_bandwidth.base() / 1e12, "TB/s", "memory_bandwidth_tb_s",
        from_.device("memory_bandwidth"));
    const Machine<double>& machine = subject_.explainer.replica.model.machine;
    for (const DataType type : multiply_types(subject_.c, machine.wide))
      put(fmt::format("Dense peak, {}", to_string(type)), machine.peak_of(type) / 1e12, "TFLOP/s",
          fmt::format("peak_{}_tflop_s", to_string(type)), from_.device("dense_peak"));
    put("Memory that the driver shows", a.memory_visible / gibibyte, "GiB", "memory_visible_gib",
        from_.device("memory_visible"));
    put("Memory as sold", a.memory_nominal / gigabyte, "GB", "memory_nominal_gb",
        from_.device("memory_nominal"));
    std::optional<double> power;
    if (a.power) power = a.power->base();
    put("Power", power, "W", "power_w", power ? from_.device("power") : "unknown");
  }

  void model() {
    section("The model on one accelerator, all layers");
    const Coefficients& c = subject_.c;
    const std::string weights =
        from_.model("widths, layers") + "; " + from_.stated("/precision/weights");
    put("Dense weights read by every step", c.weight_bytes / 1e9, "GB", "weights_gb", weights);
    for (const LinearGroup& group : c.linear) {
      const auto name = to_string(group.type);
      put(fmt::format("Dense multiplies per token, {}", name), group.per_token / 1e9, "GFLOP",
          fmt::format("linear_{}_gflop", name), "2 x weights on this device");
      if (group.per_logit > 0)
        put(fmt::format("Output head per token that is sampled, {}", name), group.per_logit / 1e9,
            "GFLOP", fmt::format("head_{}_gflop", name), "2 x weights of the head on this device");
    }
    for (std::size_t i = 0; i < c.experts.size(); ++i)
      experts(c.experts[i], numbered(i, c.experts.size()));
    for (std::size_t i = 0; i < c.attention.size(); ++i)
      attention(c.attention[i], numbered(i, c.attention.size()));
    if (c.state_bytes > 0 || c.recurrent_flops > 0) {
      put("Recurrent state read and written per sequence", c.state_bytes, "B", "state_bytes",
          from_.model("state sizes"));
      put("Recurrent core per token", c.recurrent_flops / 1e9, "GFLOP", "recurrent_gflop",
          from_.model("state sizes"));
    }
  }

  void experts(const ExpertGroup& group, const std::string& n) {
    const std::string label = "Experts" + n;
    put(label + " of a layer", group.experts, "", "experts" + n, from_.model("experts"));
    put(label + " that a token picks", group.top_k, "", "experts_per_token" + n,
        from_.model("experts per token"));
    put(label + ": weights read per distinct expert", group.bytes / 1e9, "GB", "expert_gb" + n,
        from_.model("expert width, layers") + "; " + from_.stated("/precision/expert_weights"));
    put(label + ": multiplies per token", group.flops / 1e9, "GFLOP", "expert_gflop" + n,
        "2 x picked weights on this device");
  }

  void attention(const AttentionGroup& group, const std::string& n) {
    const std::string label =
        (group.kind == OperatorKind::indexer ? "Indexer" : "Attention") + n + ": ";
    const std::string from = from_.model("heads and head size");
    put(label + "KV bytes per visible token", group.cache_bytes, "B/token",
        "kv_bytes_per_token" + n, from + "; " + from_.stated("/precision/kv_cache"));
    put(label + "FLOPs per query and visible token", group.flops, "FLOP",
        "attention_flop_per_token" + n, from);
    put(label + "FLOPs per query-key pair of a prompt", group.prompt_flops, "FLOP",
        "attention_flop_per_pair" + n, from);
    if (group.expand_flops > 0)
      put(label + "FLOPs per cached prompt token (expanding latents)", group.expand_flops, "FLOP",
          "attention_expand_flop" + n, from);
    if (group.window > 0)
      put(label + "window", group.window, "token", "attention_window" + n,
          from_.model("sliding window"));
    if (group.top_k > 0)
      put(label + "tokens that the indexer lets through", group.top_k, "token",
          "attention_top_k" + n, from_.model("index top k"));
    if (group.compress != 1)
      put(label + "context tokens per cache entry", group.compress, "1", "attention_compress" + n,
          from_.model("compression ratio"));
  }

  Sheet& sheet_;
  const Subject& subject_;
  const Explainer& from_;
};

}  // namespace

std::string caption(const Subject& subject) {
  return fmt::format("{} on {}, tokenroof {}", subject.scenario.model.id,
                     subject.scenario.accelerator.id, subject.options.version);
}

void write_inputs(Book& book, const Subject& subject) {
  Sheet sheet(book, "inputs", caption(subject));
  sheet.widths({50, 16, 10, 27, 74});
  sheet.line("Inputs: " + caption(subject), Style::title);
  sheet.line("Change the coloured cells; sheets calc, results and charts follow.", Style::note);
  sheet.headings({"what", "value", "unit", "name", "origin"}, true);
  Inputs(sheet, subject).write();
}

}  // namespace tokenroof::io::xlsx
