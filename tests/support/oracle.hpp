// The table of known-good values: oracle("s1.ridge.h100.bf16"). Unknown keys fail the test.
#pragma once

#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "catch2/catch.hpp"

namespace tokenroof::test {

/// Value of a row of tests/oracle/theory.csv (`key,value`).
inline double oracle(const std::string& key) {
  static const std::map<std::string, double> table = [] {
    std::map<std::string, double> rows;
    std::ifstream in(TOKENROOF_TEST_DIR "/oracle/theory.csv");
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      const std::size_t comma = line.find(',');
      rows[line.substr(0, comma)] = std::stod(line.substr(comma + 1));
    }
    return rows;
  }();
  const auto row = table.find(key);
  if (row == table.end()) throw std::runtime_error("no oracle row " + key);
  return row->second;
}

/// Closed forms agree to 1e-12, iterative answers to 1e-9, relative.
inline Approx closed_form(const std::string& key) { return Approx(oracle(key)).epsilon(1e-12); }
inline Approx iterative(const std::string& key) { return Approx(oracle(key)).epsilon(1e-9); }

}  // namespace tokenroof::test
