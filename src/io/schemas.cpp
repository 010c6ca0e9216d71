#include "tokenroof/io/schemas.hpp"

#include "json_reader.hpp"
#include "tokenroof/io/catalog.hpp"

namespace tokenroof::io {

std::vector<std::string> schema_names() {
  return {"scenario", "accelerator", "engine", "kernels", "prices"};
}

std::string schema(std::string_view name) {
  // Always the built-in one: it describes these readers, whatever folder the data come from.
  if (auto text = Catalog().text("schema/" + std::string(name) + ".json")) return *text;
  throw SpecError(
      "schema", "",
      "no schema of \"" + std::string(name) + "\"" + did_you_mean(name, schema_names()));
}

}  // namespace tokenroof::io
