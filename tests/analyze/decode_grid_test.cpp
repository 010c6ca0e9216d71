#include "tokenroof/analyze/decode_grid.hpp"

#include "properties.hpp"
#include "step_fixtures.hpp"

namespace tokenroof {
namespace {

using namespace test;

const std::vector<double> batches = {0, 1, 3, 8, 64, 257, 1024};
const std::vector<double> contexts = {0, 1, 17, 128, 1000, 8192, 131072};

/// Largest relative difference between a grid and one call per point.
double worst(const StepModel<double>& model, Fidelity fidelity, double query_tokens) {
  DecodeGrid grid(contexts.size(), batches.size());
  fill_decode_grid(model, fidelity, batches, contexts, grid, query_tokens);
  double difference = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (std::size_t s = 0; s < contexts.size(); ++s) {
      StepLoad<double> load = decode_load(batches[b], contexts[s]);
      load.query_tokens = query_tokens;
      const double direct = step_time(model, load, fidelity).total().base();
      const double cell = grid(static_cast<Eigen::Index>(s), static_cast<Eigen::Index>(b));
      difference = std::max(difference, std::abs(cell - direct) / std::max(direct, 1e-30));
    }
  }
  return difference;
}

TEST_CASE("a grid equals one call per point, in every fidelity") {
  for (StepModel<double> model : step_models())
    for (const Fidelity fidelity : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated})
      for (const double query_tokens : {1.0, 4.0}) {
        model.async_scheduling = query_tokens > 1;
        CHECK(worst(model, fidelity, query_tokens) < 1e-14);
      }
}

TEST_CASE("also where long contexts run without captured graphs, and for a local runtime") {
  StepModel<double> model = step_models().front();
  model.engine.graph_context = 4096;
  model.engine.per_eager_layer = 400 * microsecond;
  CHECK(worst(model, Fidelity::calibrated, 1) < 1e-14);
  const double eager = calibrated_step(model, decode_load(1.0, 8192.0)).total().base();
  CHECK(eager > 1.5 * calibrated_step(model, decode_load(1.0, 1000.0)).total().base());
  model.local_runtime = LocalRuntimeConstants{};
  CHECK(worst(model, Fidelity::calibrated, 1) < 1e-14);
}

TEST_CASE("drafts and their verification are in a replica's grid") {
  Replica replica;
  replica.model = step_models().front();
  replica.draft_tokens = 3;
  replica.draft_cost = 0.1;
  const DecodeGrid grid = decode_grid(replica, batches, contexts);
  CHECK(grid(5, 4) == Approx(replica.decode(64, 8192).total().base()).epsilon(1e-14));
  CHECK(decode_grid(replica, {}, contexts).size() == 0);
}

}  // namespace
}  // namespace tokenroof
