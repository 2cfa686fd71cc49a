// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Counts up, says so, and refuses to count by nothing.
contract Counter {
    event Increased(address indexed by, uint256 amount, uint256 value);

    error Nothing(address by);

    uint256 public value;

    constructor(uint256 start) {
        value = start;
    }

    function increase(uint256 amount) external {
        if (amount == 0) revert Nothing(msg.sender);
        value += amount;
        emit Increased(msg.sender, amount, value);
    }
}
