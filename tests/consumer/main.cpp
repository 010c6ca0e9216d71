// What a planner does: the core alone, plain structs, no JSON.
#include <tokenroof/tokenroof.hpp>

int main() {
  using namespace tokenroof;
  const Bytes memory = 80 * gigabyte;
  return memory > 79 * gigabyte ? 0 : 1;
}
