// Two translation units that include everything: no header may define a symbol twice.
#include "tokenroof/tokenroof.hpp"

double other_unit();
int main() { return other_unit() > 0 ? 0 : 1; }
