// An amount is not a rate.
// expect: conversion from
#include "tokenroof/core/units.hpp"
using namespace tokenroof;
#ifdef CONTROL
BytesPerSecond rate = 3.35 * terabyte / second;
#else
BytesPerSecond rate = 3.35 * terabyte;
#endif
