// A quantity leaves by division with a unit, not by itself.
// expect: cannot convert
#include "tokenroof/core/units.hpp"
using namespace tokenroof;
Seconds time = 5 * millisecond;
#ifdef CONTROL
double ms = time / millisecond;
#else
double ms = time;
#endif
