// A bare number is not a quantity: no unit, no meaning.
// expect: conversion from .double. to non-scalar type
#include "tokenroof/core/units.hpp"
using namespace tokenroof;
#ifdef CONTROL
Bytes memory = 80 * gigabyte;
#else
Bytes memory = 80e9;
#endif
