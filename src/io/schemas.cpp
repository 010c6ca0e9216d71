#include "tokenroof/io/schemas.hpp"

#include "json_reader.hpp"
#include "tokenroof/io/catalog.hpp"

namespace tokenroof::io {

std::vector<std::string> schema_names() {
  return {"scenario", "accelerator", "engine", "kernels", "prices"};
}

std::vector<std::string> answer_schema_names() {
  return {"bill", "estimate", "plan", "simulate", "validate"};
}

std::string schema(std::string_view name) {
  // Always the built-in one: it describes this program, whatever folder the data come from.
  const Catalog built_in;
  for (const char* folder : {"schema/", "schema/answers/"})
    if (auto text = built_in.text(folder + std::string(name) + ".json")) return *text;
  std::vector<std::string> names = schema_names();
  for (std::string& answer : answer_schema_names()) names.push_back(std::move(answer));
  throw SpecError("schema", "",
                  "no schema of \"" + std::string(name) + "\"" + did_you_mean(name, names));
}

}  // namespace tokenroof::io
