#include "tokenroof/io/table.hpp"

#include "catch2/catch.hpp"

using namespace tokenroof::io;

TEST_CASE("columns line up, numbers to the right") {
  TextTable table({"part", "GiB"});
  table.row({"weights", "70.5"}).row({"\u00b5-batch", "-"}).row({"KV cache", "5"});
  CHECK(table.plain() ==
        "part       GiB\n"
        "--------  ----\n"
        "weights   70.5\n"
        "\u00b5-batch      -\n"
        "KV cache     5\n");
  CHECK(table.markdown() ==
        "| part | GiB |\n"
        "| --- | ---: |\n"
        "| weights | 70.5 |\n"
        "| \u00b5-batch | - |\n"
        "| KV cache | 5 |\n");
  CHECK(table.plain(true).substr(0, 4) == "\033[1m");
}

TEST_CASE("cells that would break a table") {
  TextTable table({"a", "b"}, {Align::left, Align::right});
  table.row({"x|y\nz"});
  CHECK(table.markdown() == "| a | b |\n| --- | ---: |\n| x\\|y<br>z |  |\n");
  CHECK_THROWS_AS(table.row({"1", "2", "3"}), std::logic_error);
}
