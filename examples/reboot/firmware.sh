#!/bin/sh
# Each step needs a boot. Status 194 asks for it; ANNEAL_REBOOTS says how many there were.
case $ANNEAL_REBOOTS in
  0) echo 2.7 >"$HOME/bios" && exit 194 ;;
  1) echo 14.3 >"$HOME/nic" && exit 194 ;;
esac
echo "BIOS $(cat "$HOME/bios") and network card $(cat "$HOME/nic") after $ANNEAL_REBOOTS reboots"
