#include "io/validate/engine_rows.hpp"

namespace tokenroof::io {

EngineRow measured_engine_row(const Row& row, Lookups& lookups);
EngineRow closed_loop_engine_row(const Row& row, Lookups& lookups);

namespace {
struct KindReader {
  std::string_view kind;
  ReadEngineRow read;
};
constexpr KindReader readers[] = {{"measurements", measured_engine_row},
                                  {"closed_loop", closed_loop_engine_row}};
}  // namespace

ReadEngineRow engine_row_reader(std::string_view kind) {
  for (const KindReader& reader : readers)
    if (reader.kind == kind) return reader.read;
  return nullptr;
}

}  // namespace tokenroof::io
