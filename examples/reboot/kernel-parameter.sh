#!/bin/sh
# On a real machine: a file in /etc/default/grub.d, then update-grub. The agent reboots after this script has ended with 0.
echo 'isolcpus=2-7' >"$HOME/grub"
