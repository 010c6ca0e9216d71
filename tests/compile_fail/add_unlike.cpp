// Bytes and seconds do not add.
// expect: no match for .operator\+
#include "tokenroof/core/units.hpp"
using namespace tokenroof;
#ifdef CONTROL
auto sum = 1 * byte + 2 * byte;
#else
auto sum = 1 * byte + 2 * second;
#endif
