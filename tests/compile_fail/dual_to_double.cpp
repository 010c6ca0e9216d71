// Derivatives are never dropped in silence.
// expect: (cannot convert|conversion from)
#include "tokenroof/core/scalar.hpp"
using namespace tokenroof;
With<Seconds, Dual<1>> time;
#ifdef CONTROL
With<Seconds, Dual<1>> copy = time;
#else
Seconds copy = time;
#endif
