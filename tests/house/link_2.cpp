#include "tokenroof/tokenroof.hpp"

double other_unit() { return (80 * tokenroof::gigabyte) / tokenroof::byte; }
