// Unlike quantities have no order.
// expect: no match for .operator<
#include "tokenroof/core/units.hpp"
using namespace tokenroof;
#ifdef CONTROL
bool less = 1 * dollar < 2 * dollar;
#else
bool less = 1 * dollar < 2 * joule;
#endif
