// Lengths and traffic of a scenario.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "scenario_parts.hpp"
#include "tokenroof/io/trace.hpp"

namespace tokenroof::io {
namespace {

constexpr double most_tokens = 1e12;
constexpr Range any_length{.low = 0, .high = most_tokens, .low_open = true};
constexpr Range any_output{.low = 1, .high = most_tokens};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

LengthLaw read_uniform(ObjectReader& reader) {
  LengthLaw law{.kind = LengthLaw::Kind::uniform};
  const auto limits = reader.numbers("uniform", Range::positive());
  if (!limits) return law;
  if (limits->size() != 2 || (*limits)[0] > (*limits)[1]) {
    reader.fault("uniform",
                 "expected two ascending factors of the stated length, such as [0.8, 1.0]");
    return law;
  }
  law.low = (*limits)[0];
  law.high = (*limits)[1];
  return law;
}

/// Samples of `pairs` of input and output, by rising input; a long trace is thinned evenly.
void set_samples(LengthLaw& law, std::vector<std::pair<double, double>> pairs) {
  constexpr std::size_t most = 50000;
  std::sort(pairs.begin(), pairs.end());
  const std::size_t kept = std::min(most, pairs.size());
  for (std::size_t i = 0; i < kept; ++i) {
    const auto& [input, output] = pairs[(2 * i + 1) * pairs.size() / (2 * kept)];
    law.input_samples.push_back(input);
    law.output_samples.push_back(output);
  }
}

LengthLaw read_empirical(ObjectReader& reader) {
  LengthLaw law{.kind = LengthLaw::Kind::empirical};
  auto samples = reader.object("empirical");
  if (!samples) return law;
  for (const std::string_view key : {"input", "output"}) samples->required(key);
  const auto inputs = samples->numbers("input", any_length).value_or(std::vector<double>{});
  const auto outputs = samples->numbers("output", any_output).value_or(std::vector<double>{});
  samples->finish();
  if (inputs.size() != outputs.size()) {
    reader.fault("empirical", "\"input\" and \"output\" must have the same number of entries");
    return law;
  }
  if (inputs.empty()) reader.fault("empirical", "needs at least one pair of lengths");
  std::vector<std::pair<double, double>> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) pairs.emplace_back(inputs[i], outputs[i]);
  set_samples(law, std::move(pairs));
  return law;
}

LengthLaw read_trace(ObjectReader& reader, const ScenarioContext& context) {
  const std::optional<std::string> stated = reader.text("trace");
  if (!stated) return {};
  const std::string& name = *stated;
  const auto path = find_path(name, context.folder);
  if (!path) {
    reader.fault("trace", fmt::format("no such file: \"{}\"", name));
    return {};
  }
  try {
    LengthLaw law;
    law.kind = LengthLaw::Kind::empirical;
    std::vector<std::pair<double, double>> pairs;
    for (const SimulatedRequest& row : load_trace(*path).requests)
      pairs.emplace_back(row.input, row.output);
    if (pairs.empty()) reader.fault("trace", "holds no request");
    set_samples(law, std::move(pairs));
    return law;
  } catch (const SpecError& error) {
    reader.faults().add(error);
    return {};
  }
}

LengthLaw read_lengths(ObjectReader& workload, const ScenarioContext& context) {
  constexpr std::string_view expected =
      "expected \"fixed\", \"geometric\", {\"uniform\": [0.8, 1.0]}, {\"lognormal\": 0.5}, "
      "{\"trace\": \"file.csv\"} or {\"empirical\": {\"input\": [...], \"output\": [...]}}";
  LengthLaw law;
  const Json* value = workload.raw("lengths");
  if (value == nullptr) {
    context.note(workload.pointer("lengths"), "fixed");
    return law;
  }
  if (value->is_string() && *value == "fixed") return law;
  if (value->is_string() && *value == "geometric") {
    law.kind = LengthLaw::Kind::geometric;
    return law;
  }
  if (!value->is_object() || value->size() != 1 || value->front().is_null()) {
    workload.fault("lengths", fmt::format("{}, found {}", expected, describe(*value)));
    return law;
  }
  ObjectReader reader = *workload.object("lengths");
  if (reader.has("trace")) {
    law = read_trace(reader, context);
  } else if (reader.has("empirical")) {
    law = read_empirical(reader);
  } else {
    if (reader.has("uniform")) law = read_uniform(reader);
    if (const auto cv = reader.number("lognormal", {.low = 0, .high = 100, .low_open = true})) {
      law.kind = LengthLaw::Kind::lognormal;
      law.cv = *cv;
    }
    for (const std::string_view known : {"uniform", "trace", "empirical"}) reader.ignore(known);
    reader.finish();
  }
  return law;
}

Sessions read_sessions(ObjectReader reader) {
  Sessions sessions;
  const auto number = [&](std::string_view key, Range range, double otherwise) {
    return reader.number(key, range).value_or(otherwise);
  };
  sessions.system_prompt_tokens =
      reader.quantity<TokensPerRequest>("system_prompt_tokens", Sign::non_negative)
          .value_or(TokensPerRequest{})
          .base();
  sessions.distinct_system_prompts = number("distinct_system_prompts", Range::at_least(1), 1);
  sessions.users_per_system_prompt = number("users_per_system_prompt", Range::at_least(1), 1);
  sessions.turns = number("turns", Range::at_least(1), 1);
  sessions.multi_turn = reader.boolean("multi_turn").value_or(sessions.turns > 1);
  sessions.same_question = reader.boolean("same_question").value_or(false);
  reader.finish();
  return sessions;
}

SingleStep read_single_step(ObjectReader& reader) {
  SingleStep step;
  reader.required("batch");
  reader.required("context_tokens");
  step.batch = Requests::from_base(
      static_cast<double>(reader.integer("batch", Range::at_least(1)).value_or(1)));
  step.context = reader.quantity<TokensPerRequest>("context_tokens", Sign::non_negative)
                     .value_or(TokensPerRequest{});
  return step;
}

void read_traffic(ObjectReader& reader, const ScenarioContext& context, Workload& workload) {
  const bool open = reader.has("arrival_rate"), closed = reader.has("concurrency");
  const bool step = reader.has("batch") || reader.has("context_tokens");
  for (const std::string_view key :
       {"arrival_rate", "arrival_squared_cv", "concurrency", "batch", "context_tokens"})
    reader.ignore(key);
  if (open + closed + step != 1) {
    reader.faults().add(reader.pointer(),
                        open + closed + step == 0
                            ? "needs one of arrival_rate, concurrency, or batch with context_tokens"
                            : "arrival_rate, concurrency and batch exclude each other; set the "
                              "others to null");
    return;
  }
  if (reader.has("arrival_squared_cv") && !open)
    reader.fault("arrival_squared_cv", "belongs to arrival_rate, which is not given");
  if (step) {
    workload.traffic = read_single_step(reader);
  } else if (closed) {
    workload.traffic = ClosedLoopTraffic{Requests::from_base(
        static_cast<double>(reader.integer("concurrency", Range::at_least(1)).value_or(1)))};
  } else {
    OpenLoop loop;
    loop.arrival_rate =
        reader.quantity<RequestsPerSecond>("arrival_rate").value_or(RequestsPerSecond{});
    loop.arrival_squared_cv = context.value_or(
        reader, "arrival_squared_cv", reader.number("arrival_squared_cv", Range::between(0, 1e4)),
        1.0, "1", "default: Poisson arrivals");
    workload.traffic = loop;
  }
}

// Traffic needs both lengths. One step needs none: its prompt is then the context.
void read_stated_lengths(ObjectReader& reader, const ScenarioContext& context, Workload& workload) {
  const auto* step = std::get_if<SingleStep>(&workload.traffic);
  const bool sampled = workload.lengths.kind == LengthLaw::Kind::empirical;
  const auto length = [&](std::string_view key, const std::vector<double>& samples,
                          TokensPerRequest of_step) {
    if (auto stated = reader.quantity<TokensPerRequest>(key)) return *stated;
    if (reader.has(key)) return TokensPerRequest::from_base(1);
    TokensPerRequest otherwise = of_step;
    if (sampled && !samples.empty()) {
      otherwise = TokensPerRequest::from_base(mean(samples));
    } else if (step == nullptr) {
      reader.required(key);
      return otherwise;
    }
    context.note(reader.pointer(key), to_text(otherwise.base(), 9),
                 sampled ? "mean of lengths" : "default: one step");
    return otherwise;
  };
  workload.input = length("input_tokens", workload.lengths.input_samples,
                          step ? step->context : TokensPerRequest{});
  workload.output =
      length("output_tokens", workload.lengths.output_samples, TokensPerRequest::from_base(1));
  if (workload.output.base() < 1)
    reader.faults().add(reader.pointer("output_tokens"), "expected at least 1 token");
  for (const auto& [key, tokens] :
       {std::pair("input_tokens", workload.input), std::pair("output_tokens", workload.output)})
    if (tokens.base() > most_tokens) reader.fault(key, "expected at most 1e12 tokens");
  // Samples are a law around what is stated.
  const auto scale = [](std::vector<double>& samples, double to, double least) {
    if (samples.empty()) return;
    const double factor = to / mean(samples);
    if (std::abs(factor - 1) < 1e-9) return;
    for (double& sample : samples) sample = std::max(least, sample * factor);
  };
  if (sampled) {
    scale(workload.lengths.input_samples, workload.input.base(), 0);
    scale(workload.lengths.output_samples, workload.output.base(), 1);
  }
}

/// The kinds of requests of a mix. Their lengths become an empirical law of ten thousand requests,
/// one of each kind at least, by rounded cumulative shares, so that queue and simulator see the mix
/// as well.
void read_classes(std::vector<ObjectReader> readers, ObjectReader& workload, Workload& result) {
  if (std::holds_alternative<SingleStep>(result.traffic))
    workload.fault("classes", "belong to arrival_rate or concurrency, not to one step");
  double shares = 0;
  for (ObjectReader& reader : readers) {
    WorkloadClass kind;
    for (const std::string_view key : {"share", "input_tokens", "output_tokens"})
      reader.required(key);
    kind.name = reader.required_text("name");
    kind.share = reader.number("share", Range::positive()).value_or(1);
    const auto one = TokensPerRequest::from_base(1);
    kind.input = reader.quantity<TokensPerRequest>("input_tokens").value_or(one);
    kind.output = reader.quantity<TokensPerRequest>("output_tokens").value_or(one);
    if (kind.output < one) reader.fault("output_tokens", "expected at least 1 token");
    kind.prefix_hit_rate =
        reader.number("prefix_hit_rate", {.low = 0, .high = 1, .high_open = true}).value_or(0);
    reader.finish();
    shares += kind.share;
    result.classes.push_back(std::move(kind));
  }
  for (const std::string_view key :
       {"input_tokens", "output_tokens", "lengths", "prefix_hit_rate", "sessions"}) {
    if (workload.has(key)) workload.fault(key, "excludes classes, from which it follows");
    workload.ignore(key);
  }
  double hits = 0, given = 0;
  std::vector<std::pair<double, double>> pairs;
  result.lengths.kind = LengthLaw::Kind::empirical;
  result.input = result.output = {};
  for (WorkloadClass& kind : result.classes) {
    kind.share /= shares;
    result.input += kind.share * kind.input;
    result.output += kind.share * kind.output;
    hits += kind.share * kind.input.base() * kind.prefix_hit_rate;
    given += 10000 * kind.share;
    pairs.resize(std::max(pairs.size() + 1, static_cast<std::size_t>(std::round(given))),
                 {kind.input.base(), kind.output.base()});
  }
  set_samples(result.lengths, std::move(pairs));
  result.prefix_hit_rate = result.input.base() > 0 ? hits / result.input.base() : 0;
}

}  // namespace

Workload read_workload_part(ObjectReader& scenario, const ScenarioContext& context) {
  Workload workload;
  if (scenario.required("workload") == nullptr) return workload;
  ObjectReader reader = *scenario.object("workload");
  read_traffic(reader, context, workload);
  if (auto classes = reader.objects("classes"); !classes.empty()) {
    read_classes(std::move(classes), reader, workload);
    reader.finish();
    return workload;
  }
  if (reader.has("classes")) {
    reader.fault("classes", "expected at least one kind of requests");
    return workload;
  }
  workload.lengths = read_lengths(reader, context);
  read_stated_lengths(reader, context, workload);
  if (auto sessions = reader.object("sessions")) {
    workload.sessions = read_sessions(*sessions);
    if (reader.has("prefix_hit_rate"))
      reader.fault("prefix_hit_rate", "excludes sessions, from which the hit rate follows");
    reader.ignore("prefix_hit_rate");
  } else {
    const auto rate = reader.number("prefix_hit_rate", {.low = 0, .high = 1, .high_open = true});
    workload.prefix_hit_rate = context.value_or(reader, "prefix_hit_rate", rate, 0.0, "0");
  }
  reader.finish();
  return workload;
}

}  // namespace tokenroof::io
