// Every file in data/ loads, and its numbers are sane.
#include <map>
#include <set>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/catalog.hpp"

using namespace tokenroof;
using namespace tokenroof::io;

namespace {
template <class Check>
void each(const Catalog& catalog, Shelf shelf, const Check& check) {
  for (const std::string& name : catalog.names(shelf)) {
    INFO(name);
    try {
      check(name);
    } catch (const SpecError& error) {
      FAIL_CHECK(error.what());
    }
  }
}
const Catalog& files() {
  static const Catalog catalog(TOKENROOF_SOURCE_DIR "/data");
  return catalog;
}
}  // namespace

TEST_CASE("accelerators load with a source for every number") {
  CHECK(files().names(Shelf::accelerators).size() > 100);
  std::map<std::string, std::string> owner;
  each(files(), Shelf::accelerators, [&](const std::string& name) {
    const AcceleratorEntry entry = files().accelerator(name);
    const Accelerator& device = entry.accelerator;
    CHECK(device.id == name);
    CHECK(owner.emplace(name, name).second);
    for (const std::string& alias : entry.aliases) {
      INFO("alias " << alias << " is also of " << owner[alias]);
      CHECK((owner[alias].empty() || owner[alias] == name));
      owner[alias] = name;
    }
    // Narrower types are never slower, and no more memory is visible than is there.
    const auto peak = [&](DataType type) { return device.peak(type); };
    const auto rises = [&](DataType wide, DataType narrow) {
      return peak(narrow) == FlopsPerSecond{} || peak(wide) <= peak(narrow);
    };
    CHECK(rises(DataType::bf16, DataType::fp8));
    CHECK(rises(DataType::fp8, DataType::fp4));
    CHECK(rises(DataType::tf32, DataType::bf16));
    CHECK(device.memory_visible <= device.memory_nominal * 1.08);
    CHECK(device.memory_visible >= device.memory_nominal * 0.5);
    CHECK(device.memory_bandwidth > 10e9 * byte / second);
    CHECK(device.memory_bandwidth < 100e12 * byte / second);
    if (device.price) CHECK(*device.price < 100 * dollar / hour);
  });
}

TEST_CASE("engine profiles load") {
  each(files(), Shelf::engines,
       [&](const std::string& name) { CHECK(files().engine(name).engine.name == name); });
}

TEST_CASE("models load") {
  each(files(), Shelf::models, [&](const std::string& name) {
    const Model model = files().model(name);
    CHECK(model.hidden > 0);
    CHECK(model.layers() > 0);
    CHECK(model.layers() == static_cast<int>(model.order.size()));
  });
}

TEST_CASE("the embedded data are the files") {
  const Catalog embedded;
  for (const Shelf shelf : {Shelf::accelerators, Shelf::models, Shelf::engines}) {
    REQUIRE(embedded.names(shelf) == files().names(shelf));
    for (const std::string& name : embedded.names(shelf)) {
      const std::string path = Catalog::path(shelf, name);
      INFO(path);
      CHECK(embedded.text(path) == files().text(path));
    }
  }
  CHECK(embedded.text("no/such.json") == std::nullopt);
}
