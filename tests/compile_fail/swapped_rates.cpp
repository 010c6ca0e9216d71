// FLOP/s and B/s cannot change places.
// expect: (cannot convert|could not convert)
#include "tokenroof/core/units.hpp"
using namespace tokenroof;
double ridge(FlopsPerSecond math, BytesPerSecond memory) { return (math / memory).base(); }
const FlopsPerSecond math = 989.4 * teraflop / second;
const BytesPerSecond memory = 3.35 * terabyte / second;
#ifdef CONTROL
double r = ridge(math, memory);
#else
double r = ridge(memory, math);
#endif
